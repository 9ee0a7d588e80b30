import { type Clock, systemClock } from '@ratepact/contract'
import { type Cost, costOf, expectCost } from './cost.js'
import type { Decision } from './decision.js'
import { createEffects } from './effects.js'
import { emitTo, type LimiterEvent } from './events.js'
import { expected, expectFunction, expectObject, expectOneOf, expectOnly } from './expect.js'
import { createAsk } from './failure/ask.js'
import { asStoreError } from './failure/store-error.js'
import { createWatch } from './failure/watch.js'
import { decisionOf } from './judge.js'
import { memoryStore } from './memory/store.js'
import { type Partition, valuesOf } from './partition.js'
import { expectPolicies } from './policies.js'
import type { KindOf, NameOf, Policy } from './policy.js'
import { type Receipt, receiptOf } from './receipt.js'
import { createScopeKeys } from './scope.js'
import type { Charge, Reply, Store } from './store.js'

/** What happens to a call while the store cannot be asked. */
export type OnStoreFailure = 'open' | 'closed'

export interface LimiterOptions<P extends readonly Policy[] = readonly Policy[]> {
  /** Decided together, all or nothing. 1 to 32, no two of one name. */
  readonly policies: P
  /** Where buckets live. @default memoryStore() */
  readonly store?: Store
  /**
   * `open` lets calls pass unchecked while the store cannot be asked, `closed` refuses them as unavailable.
   * @default 'open'
   */
  readonly onStoreFailure?: OnStoreFailure
  /** Told what goes on. What it throws is passed over. */
  readonly onEvent?: (event: LimiterEvent) => void
  /** For deadlines, not for counting: the store has its own clock. @default the machine's */
  readonly clock?: Clock
}

export interface ConsumeOptions<Name extends string = string> {
  /** @default 1 for every policy counted in requests */
  readonly cost?: Cost<Name>
  /** What is called, for policies that count per scope. @default '' */
  readonly scope?: string
  /** Overrides the limiter's own for this call. */
  readonly onStoreFailure?: OnStoreFailure
}

/** Decides who may call now. */
export interface Limiter<Name extends string = string, Kind extends string = string> {
  readonly policies: readonly Policy<Name, Kind>[]
  /**
   * Takes the cost from every policy if all have it, else from none. Being refused is a value.
   * @throws PartitionError when the partition misses a kind that a policy counts, or names one that none counts
   * @throws RangeError or TypeError when cost or scope are not what they must be, or the limiter is closed
   */
  consume(partition: Partition<Kind>, options?: ConsumeOptions<Name>): Promise<Decision<Name>>
  /** What `consume` would say now; changes nothing. */
  peek(partition: Partition<Kind>, options?: ConsumeOptions<Name>): Promise<Decision<Name>>
  /**
   * Forgets what a partition has used: over all scopes, and in `scope` for policies that count per scope.
   * @throws StoreError when the store cannot be asked
   */
  reset(partition: Partition<Kind>, options?: { readonly scope?: string }): Promise<void>
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

/**
 * A limiter over one store.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example
 * const limiter = createLimiter({ policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] })
 * const decision = await limiter.consume('user-42')
 */
export function createLimiter<const P extends readonly Policy[]>(
  options: LimiterOptions<P>,
): Limiter<NameOf<P>, KindOf<P>> {
  type Name = NameOf<P>
  expectObject('the options of createLimiter', options)
  expectOnly('createLimiter', options, ['policies', 'store', 'onStoreFailure', 'onEvent', 'clock'])
  const { store = memoryStore(), onStoreFailure = 'open', clock = systemClock } = options
  expectPolicies(options.policies)
  expectStore(store)
  expectOneOf('onStoreFailure', onStoreFailure, ['open', 'closed'])
  if (options.onEvent !== undefined) expectFunction('onEvent', options.onEvent)

  const policies = Object.freeze([...options.policies]) as readonly Policy<Name, KindOf<P>>[]
  const leases = policies.some(({ algorithm }) => algorithm === 'concurrency')
  const emit = emitTo(options.onEvent)
  const watch = createWatch(clock, emit)
  const ask = createAsk(store, clock)
  const effects = createEffects<Name>(ask, policies, (error) =>
    watch.failed(asStoreError(error), onStoreFailure),
  )
  const scopeKeys = createScopeKeys()
  store.observe?.((event) => {
    if (event.type === 'evicted') emit(event)
  })
  let closing: Promise<void> | undefined

  function chargesFor(partition: unknown, call: ConsumeOptions<Name>): Charge[] {
    if (closing !== undefined) throw new TypeError('This limiter is closed: make no calls after close()')
    const values = valuesOf(partition, policies)
    const { scope = '' } = call
    if (typeof scope !== 'string') throw new TypeError(expected('scope', 'a text', scope))
    expectCost(call.cost, policies)
    return policies.map((policy) => {
      const owner = { kind: policy.by, value: values[policy.by] as string }
      return {
        policy,
        owner: policy.perScope ? { ...owner, scope } : owner,
        cost: costOf(call.cost, policy),
      }
    })
  }

  function withoutStore(error: unknown, mode: OnStoreFailure): Decision<Name> {
    watch.failed(asStoreError(error), mode)
    return mode === 'open'
      ? { outcome: 'unchecked', allowed: true, limits: [], source: 'none' }
      : { outcome: 'unavailable', allowed: false, retryAfterSeconds: UNAVAILABLE_SECONDS, source: 'none' }
  }

  async function decide(
    kind: 'consume' | 'peek',
    partition: unknown,
    call: ConsumeOptions<Name> = {},
  ): Promise<Decision<Name>> {
    expectObject('the options of the call', call)
    const mode = call.onStoreFailure ?? onStoreFailure
    expectOneOf('onStoreFailure', mode, ['open', 'closed'])
    const charges = chargesFor(partition, call)
    const violated = charges
      .filter(({ cost, policy }) => cost > policy.quota)
      .map(({ policy }) => policy.name as Name)
    if (violated.length > 0) return noted({ outcome: 'impossible', allowed: false, violated, source: 'none' })
    const lease = leases && kind === 'consume' ? crypto.randomUUID() : ''
    let reply: Reply
    try {
      reply = await ask(kind === 'consume' ? { kind, charges, lease } : { kind, charges })
    } catch (error) {
      return noted(withoutStore(error, mode))
    }
    watch.answered()
    tellHealed(charges, reply)
    const decision = decisionOf<Name>(charges, reply, kind === 'consume', scopeKeys)
    const charged = kind === 'consume' && decision.outcome === 'admitted'
    return noted(decision, charged ? receiptOf(charges, reply.readings, reply.nowUs, lease) : undefined)
  }

  function noted(decision: Decision<Name>, receipt?: Receipt): Decision<Name> {
    effects.remember(decision, receipt)
    return decision
  }

  function tellHealed(charges: readonly Charge[], { healed }: Reply): void {
    for (const index of healed) {
      const charge = charges[index]
      if (charge !== undefined) emit({ type: 'healed', policy: charge.policy.name, owner: charge.owner })
    }
  }

  return {
    policies,
    consume: (partition, call) => decide('consume', partition, call),
    peek: (partition, call) => decide('peek', partition, call),
    async reset(partition, call = {}) {
      expectObject('the options of reset', call)
      const charges = chargesFor(partition, call)
      try {
        await ask({ kind: 'reset', charges })
      } catch (error) {
        throw asStoreError(error)
      }
    },
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

function expectStore(store: unknown): asserts store is Store {
  const { run, close } = (typeof store === 'object' && store !== null ? store : {}) as Partial<Store>
  if (typeof run !== 'function' || typeof close !== 'function')
    throw new TypeError(
      expected('store', 'a store such as memoryStore() or redisStore(client), with run and close', store),
    )
}
