import { createLeases } from './advance/leases.js'
import { type ConsumeOptions, chargesOf, expectCall, type ResetOptions } from './call.js'
import { createConclude } from './conclude.js'
import type { Cost } from './cost.js'
import { createDecide } from './decide.js'
import type { Decision } from './decision.js'
import { createDenyCache } from './deny-cache.js'
import { createEffects } from './effects.js'
import type { DecisionEvent } from './events.js'
import { createAsk } from './failure/ask.js'
import { createBreakers } from './failure/breakers.js'
import { checkStore } from './failure/check.js'
import { createFallback } from './failure/fallback.js'
import { asStoreError } from './failure/store-error.js'
import { createWatch } from './failure/watch.js'
import {
  type CandidatesOf,
  expectSeconds,
  type LimiterOptions,
  type ListIn,
  type NoCandidates,
  type PlannedLimiterOptions,
  settingsFrom,
} from './limiter-options.js'
import { watchersOf } from './metrics/watchers.js'
import { kindsOf, ownersNamed, type Partition } from './partition.js'
import type { Plans } from './plans.js'
import type { KindOf, LiveNameOf, NameOf, Policy } from './policy.js'
import { createScopeKeys } from './scope.js'
import type { Finding } from './store.js'
import { createTeller, safely } from './tell/teller.js'
import { createOffenders, type Offender } from './top/offenders.js'
import { createTrialWatch } from './trial-watch.js'

/** Decides who may call now. `Counted` are the names of all policies, those that are only tried too. */
export interface Limiter<
  Name extends string = string,
  Kind extends string = string,
  Plan extends string = string,
  Counted extends string = Name,
> {
  /** The policies that decide, of all plans. */
  readonly policies: readonly Policy<Name, Kind>[]
  /** Whether it tells how many client processes share what it grants; adapters read their header then. */
  readonly countsInstances: boolean
  /** The policies that are only tried, of all plans: shadows and candidates. */
  readonly tried: readonly Policy<string, Kind>[]
  /** Whether its decisions are listened to, by metrics or `onDecision`; adapters say what was called then. */
  readonly tellsDecisions: boolean
  /** The policies by which a plan is judged. @throws RangeError when there is no such plan and no default */
  policiesOf(plan?: Plan): readonly Policy<Name, Kind>[]
  /**
   * Takes the cost from every policy if all have it, else from none. Being refused is a value.
   * @throws PartitionError when the partition misses a kind that a policy counts, or names one that none counts
   * @throws RangeError or TypeError when cost or scope are not what they must be, or the limiter is closed
   */
  consume(partition: Partition<Kind>, options?: ConsumeOptions<Counted, Plan>): Promise<Decision<Name>>
  /** What `consume` would say now; changes nothing. */
  peek(partition: Partition<Kind>, options?: ConsumeOptions<Counted, Plan>): Promise<Decision<Name>>
  /**
   * Forgets what a partition has used: over all scopes, and in `scope` for policies that count per scope.
   * @throws StoreError when the store cannot be asked
   */
  reset(partition: Partition<Kind>, options?: ResetOptions<Plan>): Promise<void>
  /**
   * Refuses a partition whatever its policies say, for so many seconds or for ever. A call is blocked when any kind
   * of its partition is; name the kinds to be blocked. With `slotBy` of the store, its kind says where the others are
   * at home, and is blocked itself where no other is named.
   * @throws TypeError unless the limiter was made with `blocks: true`
   * @throws StoreError when the store cannot be asked
   */
  block(partition: string | { readonly [K in Kind]?: string }, seconds: number | 'forever'): Promise<void>
  /** Ends a block. @returns whether there was one */
  unblock(partition: string | { readonly [K in Kind]?: string }): Promise<boolean>
  /**
   * Gives back what an admission charged, where it still counts; all of it, or `units` of the policies named. Once all
   * is given back the decision is closed. A sliding log looks back over its last 1 000 calls.
   * @returns whether anything was given back; false too when the store cannot be asked or the decision is closed
   * @throws TypeError when the decision is not one of this limiter
   */
  refund(decision: Decision<Name>, units?: Cost<Counted>): Promise<boolean>
  /**
   * Puts the real cost of a call in place of the one charged, for the policies named, and closes the decision. What is dearer than the units
   * that are left runs up a debt, of at most `maxDebt` of the policy.
   * @returns as `refund`
   */
  settle(decision: Decision<Name>, actualCost: Cost<Counted>): Promise<boolean>
  /** Gives back the places that a call took, and closes the decision. @returns as `refund` */
  release(decision: Decision<Name>): Promise<boolean>
  /** Makes the lease of the places that a call took last anew. @returns false when it has ended, else as `refund` */
  renew(decision: Decision<Name>): Promise<boolean>
  /**
   * Looks for what is set up so that the limiter cannot work, or not as it promises, and says what to do about each.
   * Bounded by 5 s; never rejects but for a closed limiter. A store without a check has nothing to find.
   */
  check(): Promise<readonly Finding[]>
  /**
   * The partitions that this process refused most often for their policies in the last 5 to 6 minutes, the worst first;
   * blocked ones are not among them. From a table that does not grow, so the numbers are bounds.
   * @param n how many at most, from 1 to 256
   */
  top(n: number): readonly Offender<Name, Kind>[]
  /**
   * Ends the limiter and closes its store: consume, peek, reset and block are refused with a TypeError from now on. Of
   * Redis it waits for answers to the calls under way, for 1 s at most.
   */
  close(): Promise<void>
}

const LONGEST_BLOCK_SECONDS = 366 * 86_400

/**
 * A limiter over one store.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example
 * const limiter = createLimiter({ policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] })
 * const decision = await limiter.consume('user-42')
 */
export function createLimiter<
  const P extends readonly Policy[],
  const C extends readonly Policy[] = readonly [],
>(options: LimiterOptions<P, C>): Limiter<LiveNameOf<P>, KindOf<P> | KindOf<C>, never, NameOf<P> | NameOf<C>>
export function createLimiter<const T extends Plans, const C extends CandidatesOf<T> = NoCandidates>(
  options: PlannedLimiterOptions<T, C>,
): Limiter<
  LiveNameOf<T[keyof T]>,
  KindOf<T[keyof T]> | KindOf<ListIn<C>>,
  keyof T & string,
  NameOf<T[keyof T]> | NameOf<ListIn<C>>
>
export function createLimiter(options: LimiterOptions | PlannedLimiterOptions): Limiter {
  const settings = settingsFrom(options)
  const { rules, store, onStoreFailure, blocks, clock, shards } = settings
  const kinds = kindsOf(rules.all)
  const offenders = createOffenders(clock)
  const watchers = watchersOf(settings.metrics, { name: settings.name, top: offenders.top })
  const tell = createTeller(clock, settings.onEvent, settings.logger, watchers?.told)
  const emit = tell ?? (() => {})
  const trials = createTrialWatch(clock, emit)
  const watch = createWatch(clock, emit, () => closing !== undefined, watchers)
  const breakers = createBreakers(store, clock, watch.turned)
  const ask = createAsk(store, clock, breakers)
  const denials =
    settings.denyCache && store.remote === true
      ? createDenyCache<string>(settings.denyCacheMaxSeconds, settings.holdMs)
      : undefined
  const scopeKeys = createScopeKeys()
  const fallback = createFallback(
    clock,
    breakers,
    watch,
    ask.store,
    scopeKeys,
    (bucket) => shards?.wholeOf(bucket) ?? bucket,
  )
  fallback.expect(onStoreFailure)
  const effects = createEffects<string>(
    async (op, via = ask.store) => {
      denials?.clear()
      const reply = await via(op)
      if (via === ask.store && reply.admitted) fallback.changed(op)
      // What was refused meanwhile may have been refused before this was given back.
      denials?.clear()
      return reply
    },
    rules.all,
    (error) => fallback.failed(error, onStoreFailure),
  )
  const leases = settings.leases && createLeases(settings.leases, async (op) => ask.store(op), clock, emit)
  store.observe?.((event) => {
    if (event.type === 'evicted') emit(event)
    // The next call finds out, without waiting for the end of a pause.
    if (event.type === 'connected') fallback.hurry()
  })
  const tellsDecisions = watchers !== undefined || settings.onDecision !== undefined
  let closing: Promise<void> | undefined

  const conclude = createConclude({ effects, fallback, leases, shards, trials, scopeKeys, tell })
  const decide = createDecide({ settings, kinds, ask, fallback, denials, offenders, conclude, expectOpen })

  function expectOpen(): void {
    if (closing !== undefined) throw new TypeError('This limiter is closed: make no calls after close()')
  }

  /** However its store ends, the limiter is closed. */
  async function end(): Promise<void> {
    if (leases !== undefined) await leases.close()
    await store.close()
  }

  /** A decision, told to who listens. */
  function told(kind: 'consume' | 'peek', partition: unknown, call?: ConsumeOptions): Promise<Decision> {
    const { onDecision } = settings
    if (!tellsDecisions) return decide(kind, partition, call)
    const fromMs = clock.now()
    return decide(kind, partition, call).then((decision) => {
      const scope = call?.scope === undefined ? {} : { scope: call.scope }
      const event: DecisionEvent = { type: 'decision', kind, decision, ...scope, ms: clock.now() - fromMs }
      watchers?.decided(event)
      safely(onDecision, event)
      return decision
    })
  }

  async function changeBlock(partition: unknown, ms: number | 'forever' | 'none'): Promise<boolean> {
    expectOpen()
    if (!blocks) throw new TypeError('This limiter was made without blocks: give createLimiter blocks: true')
    const named = ownersNamed(partition, kinds, store.slotBy)
    const owners = shards?.owners(named) ?? named
    try {
      const op = { kind: 'block', blocks: owners, ms } as const
      const { admitted } = await ask.anyway(op)
      fallback.changed(op)
      denials?.clear()
      return admitted
    } catch (error) {
      throw asStoreError(error)
    }
  }

  return {
    policies: rules.live,
    tried: rules.tried,
    countsInstances: settings.countInstances,
    tellsDecisions,
    policiesOf: (plan) => rules.policiesOf(plan).policies,
    consume: (partition, call) => told('consume', partition, call),
    peek: (partition, call) => told('peek', partition, call),
    async reset(partition, call = {}) {
      expectOpen()
      expectCall(call, rules.all, settings.countInstances)
      const policies = call.plan === undefined ? rules.all : rules.policiesOf(call.plan).all
      const charges = chargesOf(partition, call, policies, kinds, store.slotBy)
      try {
        leases?.drop(charges)
        const op = { kind: 'reset', charges: shards?.everywhere(charges) ?? charges } as const
        await ask.anyway(op)
        fallback.changed(op)
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
    top: offenders.top,
    async check() {
      expectOpen()
      return checkStore(store, clock)
    },
    close() {
      if (closing === undefined) watchers?.closed()
      closing ??= end()
      return closing
    },
  }
}
