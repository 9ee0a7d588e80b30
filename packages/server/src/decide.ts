import { expectNoLocal } from './advance/lease-options.js'
import { type Check, type ConsumeOptions, chargesOf, expectCall, NO_OPTIONS, opFor } from './call.js'
import type { Conclude } from './conclude.js'
import type { Decision } from './decision.js'
import { callerOf, type DenyCache } from './deny-cache.js'
import type { Ask } from './failure/ask.js'
import type { Fallback } from './failure/fallback.js'
import { StoreError } from './failure/store-error.js'
import type { Settings } from './limiter-options.js'
import type { Chosen } from './plans.js'
import type { Shards, Spread } from './shard/shards.js'
import type { Reply } from './store.js'
import type { Offenders } from './top/offenders.js'
import { askedFrom, asksAnyway } from './trial.js'

/** Who can answer a call, and who is told what became of it. */
export interface DecideParts {
  readonly settings: Settings
  readonly kinds: readonly string[]
  readonly ask: Ask
  readonly fallback: Fallback
  readonly denials: DenyCache<string> | undefined
  readonly offenders: Offenders
  readonly conclude: Conclude
  /** @throws TypeError when the limiter is closed */
  readonly expectOpen: () => void
}

/** Decides one call. */
export type Decide = (kind: Check['kind'], partition: unknown, call?: ConsumeOptions) => Promise<Decision>

/** Asks, in this order, units that this process holds, refusals that it remembers, and the store. */
export function createDecide(parts: DecideParts): Decide {
  const { settings, kinds, ask, fallback, denials, offenders, conclude, expectOpen } = parts
  const { rules, store, onStoreFailure, leases, clock, shards } = settings

  async function decide(
    kind: Check['kind'],
    partition: unknown,
    call: ConsumeOptions = NO_OPTIONS,
  ): Promise<Decision> {
    expectOpen()
    expectCall(call, rules.all, settings.countInstances)
    const mode = call.onStoreFailure ?? onStoreFailure
    if (mode !== onStoreFailure) {
      if (leases !== undefined) expectNoLocal(mode)
      fallback.expect(mode)
    }
    let chosen: Chosen
    if (typeof call.plan !== 'function') chosen = rules.policiesOf(call.plan)
    else {
      try {
        chosen = rules.policiesOf(await ask.inTime(Promise.resolve(call.plan())))
      } catch (error) {
        // What the function itself throws is the caller's; only its lateness is ours.
        if (error instanceof StoreError) return conclude.withoutStore(error, mode)
        throw error
      }
    }
    const sentMs = clock.now()
    const leasable = leases && chargesOf(partition, call, chosen.all, kinds, store.slotBy)
    const leased = leasable && conclude.fromLease(kind, call, leasable, chosen.plan, sentMs)
    if (leased !== undefined) return leased
    if (shards !== undefined) {
      const decision = await sharded(shards, kind, partition, call, chosen)
      return marked(kind, partition, chosen, sentMs, decision)
    }
    // A candidate has its own say on every call, so none is answered without the store.
    const cache = chosen.candidate.length === 0 ? denials : undefined
    const caller = cache === undefined ? undefined : callerFor(partition, call, chosen)
    const repeated = cache?.find(caller, call.cost, sentMs)
    if (repeated !== undefined) return marked(kind, partition, chosen, sentMs, conclude.noted(repeated))
    const charges = leasable ?? chargesOf(partition, call, chosen.all, kinds, store.slotBy)
    const asked = askedFrom(chosen, charges)
    if (asked.impossible.length > 0 && !asksAnyway(asked))
      return marked(kind, partition, chosen, sentMs, conclude.impossible(kind, asked, chosen.plan))
    const op = opFor(kind, asked, call, settings)
    let reply: Reply
    try {
      const answer = fallback.ask(op)
      reply = answer instanceof Promise ? await answer : answer
    } catch (error) {
      if (asked.impossible.length === 0)
        return marked(kind, partition, chosen, sentMs, conclude.withoutStore(error, mode, op, chosen.plan))
      fallback.failed(error, mode)
      return marked(kind, partition, chosen, sentMs, conclude.impossible(kind, asked, chosen.plan))
    }
    const decision = conclude.answered(op, reply, asked, chosen.plan)
    cache?.keep(caller, asked.charges, decision, sentMs)
    return marked(kind, partition, chosen, sentMs, decision)
  }

  /** A call on shards: what refuses it on one tries one other. */
  async function sharded(
    own: Shards,
    kind: Check['kind'],
    partition: unknown,
    call: ConsumeOptions,
    chosen: Chosen,
  ): Promise<Decision> {
    const charges = chargesOf(partition, call, chosen.policies, kinds, store.slotBy)
    const dearer = own.dearer(charges)
    if (dearer.length > 0) return conclude.impossible(kind, askedFrom(chosen, charges, dearer), chosen.plan)
    const caller = callerFor(partition, call, chosen)
    const spread = own.spread(charges, call.id)
    const first = await attempt(kind, call, spread, chosen, caller)
    // By its id a call is remembered on one shard only.
    if (first.outcome !== 'refused' || call.id !== undefined) return first
    const other = own.elsewhere(charges, spread, first.violated)
    const second = other && (await attempt(kind, call, other, chosen, caller))
    if (second === undefined || second.source === 'none') return first
    const sooner = second.outcome !== 'refused' || second.retryAfterSeconds < first.retryAfterSeconds
    return sooner ? second : first
  }

  async function attempt(
    kind: Check['kind'],
    call: ConsumeOptions,
    { charges, picks }: Spread,
    chosen: Chosen,
    caller: string | undefined,
  ): Promise<Decision> {
    const sentMs = clock.now()
    const where = caller && `${[...picks.values()].join(' ')} ${caller}`
    const repeated = denials?.find(where, call.cost, sentMs)
    if (repeated !== undefined) return conclude.noted(repeated)
    const asked = askedFrom(chosen, charges)
    const op = opFor(kind, asked, call, settings)
    let reply: Reply
    try {
      reply = await fallback.ask(op)
    } catch (error) {
      return conclude.withoutStore(error, call.onStoreFailure ?? onStoreFailure, op, chosen.plan)
    }
    const decision = conclude.answered(op, reply, asked, chosen.plan)
    denials?.keep(where, charges, decision, sentMs)
    return decision
  }

  /** Whose refusals are remembered; nobody's where the call has an id, since the store may know its answer. */
  function callerFor(
    partition: unknown,
    call: ConsumeOptions,
    { plan, perScope }: Chosen,
  ): string | undefined {
    if (call.id !== undefined) return undefined
    return callerOf(partition, perScope ? (call.scope ?? '') : undefined, plan)
  }

  /** Keeps in mind who was refused. */
  function marked(
    kind: Check['kind'],
    partition: unknown,
    { policies }: Chosen,
    nowMs: number,
    decision: Decision,
  ): Decision {
    if (!decision.allowed && kind === 'consume') offenders.refused(partition, decision, policies, nowMs)
    return decision
  }

  return decide
}
