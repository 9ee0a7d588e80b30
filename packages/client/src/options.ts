import { type Clock, type QuotaPolicy, systemClock } from '@ratepact/contract'
import { type Backoff, exponentialBackoff } from './backoff.js'
import { type CallSettings, readMaxWaitMs } from './call-options.js'
import {
  checkBoolean,
  checkFunction,
  checkList,
  checkMembers,
  checkNumber,
  checkOneOf,
  checkText,
  checkWhole,
  expected,
  given,
  refills,
} from './check.js'
import { type DialectOptions, readDialect } from './dialect.js'
import { type ClientEvent, Events } from './events.js'
import { defaultPartition } from './partition.js'
import { type RetryOptions, type RetrySettings, readRetry } from './retry-options.js'
import { defaultRoute } from './route.js'
import type { OutgoingRequest, Target } from './target.js'

/**
 * The answer of any implementation of fetch. Their types of `Response` do not fit each other (a body is a
 * stream of their own), so the whole of one is not asked for here; it is a Response all the same.
 */
export interface ResponseLike {
  readonly status: number
  readonly url: string
  readonly redirected: boolean
  readonly headers: { get(name: string): string | null }
  clone(): unknown
  text(): Promise<string>
}

/** How a client behaves. Everything has a default. */
export interface ClientOptions {
  /**
   * What sends a request.
   * @default globalThis.fetch, looked up at each call; where that is the client itself, the one before it
   */
  // biome-ignore lint/suspicious/noExplicitAny: every implementation of fetch has its own types for these
  readonly fetch?: ((input: any, init?: any) => Promise<ResponseLike>) | undefined
  /** Who shares a quota: calls with equal strings are paced together. @default origin and credential */
  readonly partition?: ((request: OutgoingRequest) => string) | undefined
  /** What is called, where limits differ by it. @default method and path, identifiers folded */
  readonly route?: ((request: OutgoingRequest) => string) | undefined
  /**
   * Policies known beforehand, for every partition; without any the first answer is waited for. One whose `unit` is not
   * `requests` (the default) or `concurrent-requests` holds nothing back before an answer states it.
   * @default none
   */
  readonly policies?: readonly QuotaPolicy[] | undefined
  /** What the service means by fields that no standard defines. @default none of them is read */
  readonly dialect?: DialectOptions | undefined
  /** The longest that one call waits in all, for its turn and between attempts, in seconds. @default 60 */
  readonly maxWaitSeconds?: number | undefined
  /**
   * Tells servers that count them that this is one client: `Ratepact-Instance`, a random number for each client that is
   * made. Among many clients with one credential it lets each take its share at once. In a page it goes to the page's own
   * origin alone, since any other would have to allow it.
   * @default false
   */
  readonly tellInstance?: boolean | undefined
  /** How many calls may wait in one partition. @default 1000 */
  readonly maxQueue?: number | undefined
  /** How often one call is sent at most. @default 3 */
  readonly maxAttempts?: number | undefined
  /** The longest from a call to the head of its answer, in seconds. @default none */
  readonly totalTimeoutSeconds?: number | undefined
  /** The longest from one sending to the head of its answer, in seconds. @default none */
  readonly attemptTimeoutSeconds?: number | undefined
  readonly retry?: RetryOptions | undefined
  /** Waits after refusals that do not say how long. @default exponentialBackoff() */
  readonly backoff?: Backoff | undefined
  /** @default the machine's own */
  readonly clock?: Clock | undefined
  /** A number from 0 up to, not including, 1. @default Math.random */
  readonly random?: (() => number) | undefined
  /** Is told what happens inside. What it throws is ignored. */
  readonly onEvent?: ((event: ClientEvent) => unknown) | undefined
}

/** Options once checked, times in milliseconds. */
export interface Settings extends RetrySettings {
  readonly fetch: ClientOptions['fetch']
  readonly partition: (target: Target) => string
  readonly route: (target: Target) => string
  readonly policies: readonly QuotaPolicy[]
  readonly dialect: DialectOptions
  readonly perCall: CallSettings
  readonly tellInstance: boolean
  readonly maxQueue: number
  readonly maxAttempts: number
  readonly totalTimeoutMs: number
  readonly attemptTimeoutMs: number
  readonly backoff: Backoff
  readonly clock: Clock
  readonly random: () => number
  readonly events: Events
}

const defaults = {
  maxWaitSeconds: 60,
  maxQueue: 1000,
  maxAttempts: 3,
  cost: 1,
  priority: 0,
} as const

const optionNames = [
  ...[
    'fetch',
    'partition',
    'route',
    'policies',
    'dialect',
    'maxWaitSeconds',
    'maxQueue',
    'maxAttempts',
    'tellInstance',
  ],
  ...['totalTimeoutSeconds', 'attemptTimeoutSeconds', 'retry', 'backoff', 'clock', 'random', 'onEvent'],
]

const policyMembers = [
  ...['policy', 'quota', 'unit', 'windowSeconds', 'partitionKey', 'refill', 'ratePerSecond'],
]

/** Timeouts are single timers, and no timer is longer. */
const mostTimeoutSeconds = 2_147_483
const mostCost = 999_999_999_999_999

/** @throws TypeError or RangeError that names the option, the rule and what was given. */
export function readOptions(options: ClientOptions): Settings {
  checkMembers('options', options, optionNames)
  const chosen = <T>(name: keyof ClientOptions, fallback: T): T =>
    options[name] === undefined ? fallback : checkFunction(name, options[name] as T)
  return {
    fetch: chosen('fetch', undefined as ClientOptions['fetch']),
    partition: chosen('partition', defaultPartition),
    route: chosen('route', defaultRoute),
    policies: readPolicies(options.policies),
    dialect: readDialect(options.dialect),
    perCall: {
      cost: defaults.cost,
      priority: defaults.priority,
      key: '',
      maxWaitMs: readMaxWaitMs('maxWaitSeconds', options.maxWaitSeconds, defaults.maxWaitSeconds * 1000),
    },
    tellInstance: checkBoolean('tellInstance', given(options.tellInstance, false)),
    maxQueue: checkWhole('maxQueue', given(options.maxQueue, defaults.maxQueue), 0, 10_000_000),
    maxAttempts: checkWhole('maxAttempts', given(options.maxAttempts, defaults.maxAttempts), 1, 1000),
    totalTimeoutMs: readTimeoutMs('totalTimeoutSeconds', options.totalTimeoutSeconds),
    attemptTimeoutMs: readTimeoutMs('attemptTimeoutSeconds', options.attemptTimeoutSeconds),
    ...readRetry(options.retry),
    backoff: readBackoff(options.backoff),
    clock: readClock(options.clock),
    random: chosen('random', Math.random),
    events: new Events(chosen('onEvent', undefined as ClientOptions['onEvent'])),
  }
}

function readTimeoutMs(name: string, seconds: number | undefined): number {
  if (seconds === undefined) return Number.POSITIVE_INFINITY
  return checkNumber(name, seconds, 0.001, mostTimeoutSeconds, ' of seconds') * 1000
}

function readPolicies(policies: readonly QuotaPolicy[] | undefined): readonly QuotaPolicy[] {
  return checkList('policies', given(policies, []), (name, each) => {
    checkMembers(name, each, policyMembers)
    const policy = each as QuotaPolicy
    const { windowSeconds, unit = 'requests', partitionKey, ratePerSecond } = policy
    checkText(`${name}.policy`, policy.policy)
    checkWhole(`${name}.quota`, policy.quota, 0, mostCost)
    checkText(`${name}.unit`, unit)
    if (windowSeconds !== undefined) checkWhole(`${name}.windowSeconds`, windowSeconds, 1, mostCost)
    if (ratePerSecond !== undefined) checkNumber(`${name}.ratePerSecond`, ratePerSecond, 1e-9, mostCost)
    checkOneOf(`${name}.refill`, policy.refill, refills)
    if (partitionKey !== undefined && !(partitionKey instanceof Uint8Array))
      throw new TypeError(expected(`${name}.partitionKey`, 'a Uint8Array', partitionKey))
    return { ...policy, unit }
  })
}

function readBackoff(backoff: Backoff | undefined): Backoff {
  if (backoff === undefined) return exponentialBackoff()
  checkFunction('backoff.delaySeconds', (backoff as Partial<Backoff> | null)?.delaySeconds)
  return backoff
}

function readClock(clock: Clock | undefined): Clock {
  if (clock === undefined) return systemClock
  for (const name of ['now', 'setTimeout', 'clearTimeout'] as const) {
    checkFunction(`clock.${name}`, (clock as Partial<Clock> | null)?.[name])
  }
  return clock
}
