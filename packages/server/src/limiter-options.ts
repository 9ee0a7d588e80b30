import { type Clock, systemClock } from '@ratepact/contract'
import { expectLeasable, type LeaseOptions, type LeaseSettings, leasesFrom } from './advance/lease-options.js'
import type { DecisionEvent, LimiterEvent } from './events.js'
import {
  expected,
  expectFunction,
  expectInteger,
  expectNow,
  expectObject,
  expectOneOf,
  expectOnly,
  show,
} from './expect.js'
import { expectOnStoreFailure, type OnStoreFailure } from './failure/mode.js'
import { withHold } from './hold.js'
import { memoryStore } from './memory/store.js'
import type { Metrics } from './metrics/metrics.js'
import { type Plans, type Rules, rulesFrom } from './plans.js'
import { KIND, type Policy } from './policy.js'
import { type Shards, shardsFrom } from './shard/shards.js'
import type { Store } from './store.js'
import type { Logger } from './tell/logger.js'

/** What a limiter may be told besides what it goes by. */
export interface LimiterSettings {
  /** Where buckets live. @default memoryStore() */
  readonly store?: Store
  /**
   * What happens to calls while the store cannot be asked. `open` lets them pass unchecked, `closed` refuses them as
   * unavailable, `{ local: { instances } }` counts them in this process, by its share of each quota.
   * @default 'open'
   */
  readonly onStoreFailure?: OnStoreFailure
  /**
   * Admits a call whose units come back within so many seconds and has it held until they do, instead of refusing it:
   * for a crowd of clients that share a quota. Token buckets and fixed windows hold; at most so many units at a time as
   * they grant in these seconds. The decision says how long (`delaySeconds`); an adapter does it. From 0.001 to 10.
   * @default calls are not held
   */
  readonly hold?: number
  /**
   * Whether to tell clients how many of their processes share a quota, so that each can take its part: counted from
   * their header `Ratepact-Instance` (or the `instance` of a call), among those with an admitted call of late. Advice
   * only: whatever the header holds, as much is granted as without. It costs the store one more look per partition.
   * @default false
   */
  readonly countInstances?: boolean
  /** Whether partitions can be blocked; it costs the store one more look per kind and call. @default false */
  readonly blocks?: boolean
  /**
   * Whether this process repeats a refusal by itself while time alone cannot have freed enough. Only for a store
   * that costs a trip. @default true
   */
  readonly denyCache?: boolean
  /** For how long it does so at most, and so how late it notices what is given back elsewhere. @default 1 */
  readonly denyCacheMaxSeconds?: number
  /**
   * Takes units of busy partitions ahead, in the background, and answers calls out of them without asking the store.
   * For token buckets and fixed windows only; not with `blocks` or `hold`. @default no leases: every call is a trip
   */
  readonly leases?: LeaseOptions
  /**
   * Into how many parts partitions of a kind are cut, such as `{ client: 8 }`: each call is counted on one of them, taken
   * by chance, which has its part of every quota and rate; so a very busy partition is spread over the nodes of a
   * cluster. From 2 to 256; every quota at least ten times as large. What one part refuses is tried on one other. Not
   * with `leases`, nor for bounds on concurrency. @default no parts
   */
  readonly shards?: { readonly [kind: string]: number }
  /** Takes the parts by chance: a number from 0 up to 1. @default Math.random */
  readonly random?: () => number
  /** For how long an admission with an `id` is remembered. @default 60 */
  readonly idSeconds?: number
  /** What figures and traces call it, where a process has several: `/^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/`. @default none */
  readonly name?: string
  /** Makes figures of all that it does: `prometheusMetrics()`, `openTelemetryMetrics()`, or several. @default none */
  readonly metrics?: Metrics | readonly Metrics[]
  /** Told what goes on, a few times at once and then no more than one of a kind a second. What it throws is passed over. */
  readonly onEvent?: (event: LimiterEvent) => void
  /** Told of every decision, for figures: keep it short. What it throws is passed over. */
  readonly onDecision?: (event: DecisionEvent) => void
  /** Where to write, in words and sparingly, what somebody should know: `console`, a logger of pino or winston. @default nowhere */
  readonly logger?: Logger
  /**
   * For deadlines and what an adapter waits for, not for counting: the store has its own clock.
   * @default the machine's
   */
  readonly clock?: Clock
}

/** A limiter with one list of policies. */
export interface LimiterOptions<
  P extends readonly Policy[] = readonly Policy[],
  C extends readonly Policy[] = readonly Policy[],
> extends LimiterSettings {
  /** Decided together, all or nothing. 1 to 32, no two of one name. */
  readonly policies: P
  /**
   * A list to be tried out in place of `policies`: judged on every call as if it replaced them, with buckets of its own,
   * and charged when all of it admits, whatever becomes of the call. It refuses nothing, and is told of in
   * `decision.shadow` and events only. No refusal is answered without the store meanwhile (`denyCache`).
   */
  readonly candidate?: C
}

/** A limiter whose calls say by which plan they are judged. */
export interface PlannedLimiterOptions<T extends Plans = Plans, C extends CandidatesOf<T> = CandidatesOf<T>>
  extends LimiterSettings {
  /** Policies by plan. A bucket keeps what was used when a client changes its plan. */
  readonly plans: T
  /** The plan of calls that name none, or one that there is not. @default such calls are an error */
  readonly defaultPlan?: keyof T & string
  /** Lists to be tried out in place of those of some plans. See `candidate` of a limiter without plans. */
  readonly candidate?: C
}

/** A list to be tried out for some of the plans. */
export type CandidatesOf<T extends Plans> = { readonly [K in keyof T]?: readonly Policy[] }

/** The lists of candidates by plan, as one. */
export type ListIn<C> = Extract<C[keyof C], readonly Policy[]>
export type NoCandidates = Readonly<Record<never, never>>

/** The settings of a limiter, checked, with their defaults. */
export interface Settings {
  readonly rules: Rules
  readonly store: Store
  readonly onStoreFailure: OnStoreFailure
  readonly holdMs: number
  readonly countInstances: boolean
  readonly blocks: boolean
  readonly denyCache: boolean
  readonly denyCacheMaxSeconds: number
  readonly leases: LeaseSettings | undefined
  readonly shards: Shards | undefined
  readonly idMs: number
  readonly name: string
  readonly metrics: readonly Metrics[]
  readonly onEvent: ((event: LimiterEvent) => void) | undefined
  readonly onDecision: ((event: DecisionEvent) => void) | undefined
  readonly logger: Logger | undefined
  readonly clock: Clock
}

/** The names of all options. */
export const LIMITER_OPTIONS: readonly string[] = [
  ...[
    'policies',
    'plans',
    'defaultPlan',
    'candidate',
    'store',
    'onStoreFailure',
    'blocks',
    'denyCache',
    'denyCacheMaxSeconds',
  ],
  ...[
    'leases',
    'shards',
    'random',
    'idSeconds',
    'hold',
    'countInstances',
    'name',
    'metrics',
    'onEvent',
    'onDecision',
  ],
  ...['logger', 'clock'],
]

/** As long as an adapter holds a request at most. */
const LONGEST_HOLD_SECONDS = 10

/** @throws TypeError or RangeError naming the option, the value and the rule */
export function settingsFrom(options: LimiterOptions | PlannedLimiterOptions): Settings {
  expectObject('the options of createLimiter', options)
  expectOnly('createLimiter', options, LIMITER_OPTIONS)
  const given: Partial<Omit<LimiterOptions & PlannedLimiterOptions, 'candidate'>> & {
    readonly candidate?: unknown
  } = options
  const {
    store = memoryStore(),
    onStoreFailure = 'open',
    clock = systemClock,
    idSeconds = 60,
    onEvent,
    onDecision,
    logger,
  } = given
  const { blocks = false, denyCache = true, denyCacheMaxSeconds = 1, hold, countInstances = false } = given
  if (hold !== undefined) expectSeconds('hold', hold, 0.001, LONGEST_HOLD_SECONDS)
  const holdMs = Math.round((hold ?? 0) * 1000)
  const { policies, plans, defaultPlan, candidate } = given
  const rules = rulesFrom({ policies, plans, defaultPlan, candidate }, (policy) =>
    holdMs > 0 ? withHold(policy, holdMs * 1000) : policy,
  )
  if (hold !== undefined) expectHolding(hold, rules)
  expectStore(store)
  expectOnStoreFailure(onStoreFailure)
  expectOneOf('blocks', blocks, [true, false])
  expectOneOf('countInstances', countInstances, [true, false])
  expectOneOf('denyCache', denyCache, [true, false])
  expectSeconds('denyCacheMaxSeconds', denyCacheMaxSeconds, 0, 3600)
  expectSeconds('idSeconds', idSeconds, 1, 86_400)
  if (onEvent !== undefined) expectFunction('onEvent', onEvent)
  if (onDecision !== undefined) expectFunction('onDecision', onDecision)
  if (logger !== undefined) expectLogger(logger)
  expectClock(clock)
  const { name = '' } = given
  if (name !== '' && !(typeof name === 'string' && KIND.test(name)))
    throw new TypeError(expected('name', `a name matching ${KIND.source}`, name))
  const metrics = metricsFrom(given.metrics)
  const leases = leasesFrom(given.leases)
  if (leases !== undefined)
    expectLeasable(rules, store, leases, { blocks, hold: holdMs > 0, countInstances, onStoreFailure })
  const { random = Math.random } = given
  expectFunction('random', random)
  const shards = shardsFrom(given.shards, rules, store, { leases: leases !== undefined, random })
  expectSlotBy(store.slotBy, rules)
  const idMs = Math.round(idSeconds * 1000)
  return {
    rules,
    store,
    onStoreFailure,
    holdMs,
    countInstances,
    blocks,
    denyCache,
    denyCacheMaxSeconds,
    leases,
    shards,
    idMs,
    name,
    metrics,
    onEvent,
    onDecision,
    logger,
    clock,
  }
}

export function expectSeconds(option: string, value: unknown, least: number, most: number): void {
  if (!(typeof value === 'number' && value >= least && value <= most))
    throw new RangeError(expected(option, `a number of seconds from ${least} to ${most}`, value))
}

export function expectClock(clock: Clock): void {
  expectNow('clock', clock)
  expectFunction('clock.setTimeout', clock.setTimeout)
  expectFunction('clock.clearTimeout', clock.clearTimeout)
}

function expectHolding(seconds: number, { all }: Rules): void {
  if (all.some(({ holdUs }) => holdUs !== undefined)) return
  const names = all.map(({ name }) => show(name)).join(', ')
  throw new TypeError(
    `Expected a policy that can hold calls for ${seconds} s, a token bucket or a fixed window that grants a unit in that time, got ${names}`,
  )
}

function expectSlotBy(slotBy: string | undefined, { all }: Rules): void {
  if (slotBy === undefined || all.some(({ by }) => by === slotBy)) return
  const kinds = [...new Set(all.map(({ by }) => show(by)))].join(', ')
  throw new TypeError(expected('slotBy of the store', `a kind that a policy counts by (${kinds})`, slotBy))
}

function expectLogger(logger: unknown): void {
  const given = (typeof logger === 'object' && logger !== null ? logger : {}) as Partial<Logger>
  for (const level of ['info', 'warn', 'error'] as const)
    if (typeof given[level] !== 'function')
      throw new TypeError(expected('logger', 'a logger with info, warn and error, such as console', logger))
}

function metricsFrom(given: unknown): readonly Metrics[] {
  const all: readonly unknown[] = given === undefined ? [] : Array.isArray(given) ? given : [given]
  for (const one of all)
    if (typeof (one as Partial<Metrics> | null)?.watch !== 'function')
      throw new TypeError(expected('metrics', 'made by prometheusMetrics() or the like, with watch', one))
  return all as readonly Metrics[]
}

function expectStore(store: unknown): asserts store is Store {
  const { run, close, timeoutMs } = (
    typeof store === 'object' && store !== null ? store : {}
  ) as Partial<Store>
  if (typeof run !== 'function' || typeof close !== 'function')
    throw new TypeError(
      expected('store', 'a store such as memoryStore() or redisStore(client), with run and close', store),
    )
  if (timeoutMs !== undefined) expectInteger('timeoutMs of the store', timeoutMs, 1, 60_000)
}
