import { type Clock, systemClock } from '@ratepact/contract'
import { type Cost, costOf, expectCost } from './cost.js'
import type { Decision } from './decision.js'
import { createDenyCache } from './deny-cache.js'
import { createEffects } from './effects.js'
import { emitTo, type LimiterEvent } from './events.js'
import { expected, expectFunction, expectObject, expectOneOf, expectOnly } from './expect.js'
import { createAsk } from './failure/ask.js'
import { asStoreError, StoreError } from './failure/store-error.js'
import { createWatch } from './failure/watch.js'
import { decisionOf } from './judge.js'
import { memoryStore } from './memory/store.js'
import { kindsOf, namedValues, type Partition, valuesOf } from './partition.js'
import { type Chosen, type Plans, rulesFrom } from './plans.js'
import type { KindOf, NameOf, Policy } from './policy.js'
import { type Receipt, receiptOf } from './receipt.js'
import { createScopeKeys } from './scope.js'
import type { BucketOwner, Charge, Op, Reply, Store } from './store.js'

/** What happens to a call while the store cannot be asked. */
export type OnStoreFailure = 'open' | 'closed'

/** What a limiter may be told besides what it goes by. */
export interface LimiterSettings {
  /** Where buckets live. @default memoryStore() */
  readonly store?: Store
  /**
   * `open` lets calls pass unchecked while the store cannot be asked, `closed` refuses them as unavailable.
   * @default 'open'
   */
  readonly onStoreFailure?: OnStoreFailure
  /** Whether partitions can be blocked; it costs the store one more look per kind and call. @default false */
  readonly blocks?: boolean
  /**
   * Whether this process repeats a refusal by itself while time alone cannot have freed enough. Only for a store
   * that costs a trip. @default true
   */
  readonly denyCache?: boolean
  /** For how long it does so at most, and so how late it notices what is given back elsewhere. @default 1 */
  readonly denyCacheMaxSeconds?: number
  /** For how long an admission with an `id` is remembered. @default 60 */
  readonly idSeconds?: number
  /** Told what goes on. What it throws is passed over. */
  readonly onEvent?: (event: LimiterEvent) => void
  /** For deadlines, not for counting: the store has its own clock. @default the machine's */
  readonly clock?: Clock
}

/** A limiter with one list of policies. */
export interface LimiterOptions<P extends readonly Policy[] = readonly Policy[]> extends LimiterSettings {
  /** Decided together, all or nothing. 1 to 32, no two of one name. */
  readonly policies: P
}

/** A limiter whose calls say by which plan they are judged. */
export interface PlannedLimiterOptions<T extends Plans = Plans> extends LimiterSettings {
  /** Policies by plan. A bucket keeps what was used when a client changes its plan. */
  readonly plans: T
  /** The plan of calls that name none, or one that there is not. @default such calls are an error */
  readonly defaultPlan?: keyof T & string
}

export interface ConsumeOptions<Name extends string = string, Plan extends string = string> {
  /** @default 1 for every policy counted in requests */
  readonly cost?: Cost<Name>
  /** What is called, for policies that count per scope. @default '' */
  readonly scope?: string
  /** By which plan the call is judged: its name, or a function that finds it out within the deadline. */
  readonly plan?: Plan | (() => Plan) | (() => Promise<Plan>)
  /**
   * Makes a call that is sent again count once: an admission is remembered by partition, scope and id, and repeated
   * up to 3 times. Refusals are not remembered. 1 to 256 characters.
   */
  readonly id?: string
  /** Overrides the limiter's own for this call. */
  readonly onStoreFailure?: OnStoreFailure
}

export interface ResetOptions<Plan extends string = string> {
  readonly scope?: string
  /** Forgets what the policies of this plan count. @default those of all plans */
  readonly plan?: Plan
}

/** Decides who may call now. */
export interface Limiter<
  Name extends string = string,
  Kind extends string = string,
  Plan extends string = string,
> {
  /** The policies, of all plans. */
  readonly policies: readonly Policy<Name, Kind>[]
  /** The policies by which a plan is judged. @throws RangeError when there is no such plan and no default */
  policiesOf(plan?: Plan): readonly Policy<Name, Kind>[]
  /**
   * Takes the cost from every policy if all have it, else from none. Being refused is a value.
   * @throws PartitionError when the partition misses a kind that a policy counts, or names one that none counts
   * @throws RangeError or TypeError when cost or scope are not what they must be, or the limiter is closed
   */
  consume(partition: Partition<Kind>, options?: ConsumeOptions<Name, Plan>): Promise<Decision<Name>>
  /** What `consume` would say now; changes nothing. */
  peek(partition: Partition<Kind>, options?: ConsumeOptions<Name, Plan>): Promise<Decision<Name>>
  /**
   * Forgets what a partition has used: over all scopes, and in `scope` for policies that count per scope.
   * @throws StoreError when the store cannot be asked
   */
  reset(partition: Partition<Kind>, options?: ResetOptions<Plan>): Promise<void>
  /**
   * Refuses a partition whatever its policies say, for so many seconds or for ever. A call is blocked when any kind
   * of its partition is; name the kinds to be blocked.
   * @throws TypeError unless the limiter was made with `blocks: true`
   * @throws StoreError when the store cannot be asked
   */
  block(partition: string | { readonly [K in Kind]?: string }, seconds: number | 'forever'): Promise<void>
  /** Ends a block. @returns whether there was one */
  unblock(partition: string | { readonly [K in Kind]?: string }): Promise<boolean>
  /**
   * Gives back what an admission charged, where it still counts; all of it, or `units` of it. Once all is given back
   * the decision is closed.
   * @returns whether anything was given back; false too when the store cannot be asked or the decision is closed
   * @throws TypeError when the decision is not one of this limiter
   */
  refund(decision: Decision<Name>, units?: Cost<Name>): Promise<boolean>
  /**
   * Puts the real cost of a call in place of the one charged, and closes the decision. What is dearer than the units
   * that are left runs up a debt, of at most one quota.
   * @returns as `refund`
   */
  settle(decision: Decision<Name>, actualCost: Cost<Name>): Promise<boolean>
  /** Gives back the places that a call took, and closes the decision. @returns as `refund` */
  release(decision: Decision<Name>): Promise<boolean>
  /** Makes the lease of the places that a call took last anew. @returns false when it has ended, else as `refund` */
  renew(decision: Decision<Name>): Promise<boolean>
  /** Ends the limiter and closes its store. Calls after it are refused with a TypeError. */
  close(): Promise<void>
}

/** Seconds after which a call refused because the store is gone may try again. */
const UNAVAILABLE_SECONDS = 5
const LONGEST_BLOCK_SECONDS = 366 * 86_400
const OPTIONS = [
  ...[
    'policies',
    'plans',
    'defaultPlan',
    'store',
    'onStoreFailure',
    'blocks',
    'denyCache',
    'denyCacheMaxSeconds',
  ],
  ...['idSeconds', 'onEvent', 'clock'],
]

/**
 * A limiter over one store.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example
 * const limiter = createLimiter({ policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] })
 * const decision = await limiter.consume('user-42')
 */
export function createLimiter<const P extends readonly Policy[]>(
  options: LimiterOptions<P>,
): Limiter<NameOf<P>, KindOf<P>, never>
export function createLimiter<const T extends Plans>(
  options: PlannedLimiterOptions<T>,
): Limiter<NameOf<T[keyof T]>, KindOf<T[keyof T]>, keyof T & string>
export function createLimiter(options: LimiterOptions | PlannedLimiterOptions): Limiter {
  expectObject('the options of createLimiter', options)
  expectOnly('createLimiter', options, OPTIONS)
  const given: Partial<LimiterOptions & PlannedLimiterOptions> = options
  const { store = memoryStore(), onStoreFailure = 'open', clock = systemClock, idSeconds = 60 } = given
  const { blocks = false, denyCache = true, denyCacheMaxSeconds = 1 } = given
  const rules = rulesFrom(given.policies, given.plans, given.defaultPlan)
  expectStore(store)
  expectOneOf('onStoreFailure', onStoreFailure, ['open', 'closed'])
  expectOneOf('blocks', blocks, [true, false])
  expectOneOf('denyCache', denyCache, [true, false])
  expectSeconds('denyCacheMaxSeconds', denyCacheMaxSeconds, 0, 3600)
  expectSeconds('idSeconds', idSeconds, 1, 86_400)
  if (given.onEvent !== undefined) expectFunction('onEvent', given.onEvent)

  const kinds = kindsOf(rules.all)
  const emit = emitTo(given.onEvent)
  const watch = createWatch(clock, emit)
  const ask = createAsk(store, clock)
  const denials =
    denyCache && store.remote === true ? createDenyCache<string>(denyCacheMaxSeconds) : undefined
  const effects = createEffects<string>(
    async (op) => {
      denials?.clear()
      return ask.store(op)
    },
    rules.all,
    (error) => watch.failed(asStoreError(error), onStoreFailure),
  )
  const scopeKeys = createScopeKeys()
  store.observe?.((event) => {
    if (event.type === 'evicted') emit(event)
  })
  let closing: Promise<void> | undefined

  function expectOpen(): void {
    if (closing !== undefined) throw new TypeError('This limiter is closed: make no calls after close()')
  }

  function chargesFor(partition: unknown, call: ConsumeOptions, policies: readonly Policy[]): Charge[] {
    const values = valuesOf(partition, policies, kinds)
    const { scope = '' } = call
    return policies.map((policy) => {
      const owner = { kind: policy.by, value: values[policy.by] as string }
      return {
        policy,
        owner: policy.perScope ? { ...owner, scope } : owner,
        cost: costOf(call.cost, policy),
      }
    })
  }

  function withoutStore(error: unknown, mode: OnStoreFailure): Decision {
    watch.failed(asStoreError(error), mode)
    return mode === 'open'
      ? { outcome: 'unchecked', allowed: true, limits: [], source: 'none' }
      : { outcome: 'unavailable', allowed: false, retryAfterSeconds: UNAVAILABLE_SECONDS, source: 'none' }
  }

  /** The op that a call comes to. */
  function opFor(kind: 'consume' | 'peek', charges: readonly Charge[], call: ConsumeOptions): Op {
    const blocked = blocks ? ownersIn(charges) : []
    if (kind === 'peek') return { kind, charges, blocks: blocked }
    const places = charges.some(({ policy }) => policy.algorithm === 'concurrency')
    const lease = places ? crypto.randomUUID() : ''
    const [first] = charges
    if (call.id === undefined || first === undefined) return { kind, charges, lease, blocks: blocked }
    const owner = { kind: first.owner.kind, value: first.owner.value, scope: call.scope ?? '' }
    return {
      kind,
      charges,
      lease,
      blocks: blocked,
      once: { owner, id: call.id, ms: Math.round(idSeconds * 1000) },
    }
  }

  async function decide(
    kind: 'consume' | 'peek',
    partition: unknown,
    call: ConsumeOptions = {},
  ): Promise<Decision> {
    expectOpen()
    expectCall(call, rules.all)
    const mode = call.onStoreFailure ?? onStoreFailure
    let chosen: Chosen
    if (typeof call.plan !== 'function') chosen = rules.policiesOf(call.plan)
    else {
      try {
        chosen = rules.policiesOf(await ask.inTime(Promise.resolve(call.plan())))
      } catch (error) {
        // What the function itself throws is the caller's; only its lateness is ours.
        if (error instanceof StoreError) return noted(withoutStore(error, mode))
        throw error
      }
    }
    return judge(kind, partition, call, chosen, mode)
  }

  async function judge(
    kind: 'consume' | 'peek',
    partition: unknown,
    call: ConsumeOptions,
    { plan, policies }: Chosen,
    mode: OnStoreFailure,
  ): Promise<Decision> {
    const charges = chargesFor(partition, call, policies)
    const violated = charges
      .filter(({ cost, policy }) => cost > policy.quota)
      .map(({ policy }) => policy.name)
    if (violated.length > 0)
      return noted(planned({ outcome: 'impossible', allowed: false, violated, source: 'none' }, plan))
    const sentMs = clock.now()
    const repeated = call.id === undefined ? denials?.find(plan, charges, sentMs) : undefined
    if (repeated !== undefined) return noted(planned(repeated, plan))
    const op = opFor(kind, charges, call)
    let reply: Reply
    try {
      reply = await ask.store(op)
    } catch (error) {
      return noted(withoutStore(error, mode))
    }
    watch.answered()
    tellHealed(charges, reply)
    const decision = planned(decisionOf(charges, reply, kind === 'consume', scopeKeys), plan)
    denials?.keep(plan, charges, decision, sentMs)
    const charged = op.kind === 'consume' && decision.outcome === 'admitted' && !decision.replayed
    return noted(decision, charged ? receiptOf(charges, reply.readings, reply.nowUs, op.lease) : undefined)
  }

  function noted(decision: Decision, receipt?: Receipt): Decision {
    effects.remember(decision, receipt)
    return decision
  }

  function tellHealed(charges: readonly Charge[], { healed }: Reply): void {
    for (const index of healed) {
      const charge = charges[index]
      if (charge !== undefined) emit({ type: 'healed', policy: charge.policy.name, owner: charge.owner })
    }
  }

  async function changeBlock(partition: unknown, ms: number | 'forever' | 'none'): Promise<boolean> {
    expectOpen()
    if (!blocks) throw new TypeError('This limiter was made without blocks: give createLimiter blocks: true')
    const owners = namedValues(partition, kinds).map(([kind, value]) => ({ kind, value }))
    try {
      const { admitted } = await ask.store({ kind: 'block', blocks: owners, ms })
      denials?.clear()
      return admitted
    } catch (error) {
      throw asStoreError(error)
    }
  }

  return {
    policies: rules.all,
    policiesOf: (plan) => rules.policiesOf(plan).policies,
    consume: (partition, call) => decide('consume', partition, call),
    peek: (partition, call) => decide('peek', partition, call),
    async reset(partition, call = {}) {
      expectOpen()
      expectCall(call, rules.all)
      const policies = call.plan === undefined ? rules.all : rules.policiesOf(call.plan).policies
      const charges = chargesFor(partition, call, policies)
      try {
        await ask.store({ kind: 'reset', charges })
        denials?.clear()
      } catch (error) {
        throw asStoreError(error)
      }
    },
    async block(partition, seconds) {
      if (seconds !== 'forever') expectSeconds('seconds', seconds, 0.001, LONGEST_BLOCK_SECONDS)
      await changeBlock(partition, seconds === 'forever' ? seconds : seconds * 1000)
    },
    unblock: (partition) => changeBlock(partition, 'none'),
    refund: effects.refund,
    settle: effects.settle,
    release: effects.release,
    renew: effects.renew,
    close() {
      closing ??= store.close()
      return closing
    },
  }
}

function planned<D extends Decision>(decision: D, plan: string | undefined): D {
  return plan === undefined ? decision : { ...decision, plan }
}

/** Each kind of partition of a call, once and without its scope. */
function ownersIn(charges: readonly Charge[]): readonly BucketOwner[] {
  const owners = new Map<string, BucketOwner>()
  for (const { owner } of charges) owners.set(owner.kind, { kind: owner.kind, value: owner.value })
  return [...owners.values()]
}

function expectCall(call: ConsumeOptions, policies: readonly Policy[]): void {
  expectObject('the options of the call', call)
  const { scope, id, onStoreFailure } = call
  if (scope !== undefined && typeof scope !== 'string')
    throw new TypeError(expected('scope', 'a text', scope))
  if (id !== undefined && !(typeof id === 'string' && id.length >= 1 && id.length <= 256))
    throw new TypeError(expected('id', 'a text of 1 to 256 characters', id))
  if (onStoreFailure !== undefined) expectOneOf('onStoreFailure', onStoreFailure, ['open', 'closed'])
  expectCost(call.cost, policies)
}

function expectSeconds(option: string, value: unknown, least: number, most: number): void {
  if (!(typeof value === 'number' && value >= least && value <= most))
    throw new RangeError(expected(option, `a number of seconds from ${least} to ${most}`, value))
}

function expectStore(store: unknown): asserts store is Store {
  const { run, close } = (typeof store === 'object' && store !== null ? store : {}) as Partial<Store>
  if (typeof run !== 'function' || typeof close !== 'function')
    throw new TypeError(
      expected('store', 'a store such as memoryStore() or redisStore(client), with run and close', store),
    )
}
