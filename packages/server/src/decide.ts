import { expectNoLocal } from './advance/lease-options.js'
import { Case, type Check, type ConsumeOptions, chargesOf, expectCall, NO_OPTIONS, opFor } from './call.js'
import { callerOf } from './caller.js'
import type { Decision } from './decision.js'
import { repeated } from './denial.js'
import type { Ask } from './failure/ask.js'
import type { OnStoreFailure } from './failure/mode.js'
import { StoreError } from './failure/store-error.js'
import { type AskParts, createSharded } from './shard/sharded.js'
import type { Reply } from './store.js'
import type { Offenders } from './top/offenders.js'
import { type Asked, askedFrom, asksAnyway } from './trial.js'

/** Who can answer a call, and who is told what became of it. */
export interface DecideParts extends AskParts {
  readonly ask: Ask
  readonly offenders: Offenders
  /** @throws TypeError when the limiter is closed */
  readonly expectOpen: () => void
}

/** Decides one call. */
export type Decide = (kind: Check['kind'], partition: unknown, call?: ConsumeOptions) => Promise<Decision>

/**
 * Asks, in this order, units that this process holds, refusals that it remembers, and the store. Who answers at once is
 * not waited for: beside such a decision an async function is dear.
 */
export function createDecide(parts: DecideParts): Decide {
  const { settings, kinds, ask, fallback, denials, offenders, conclude, expectOpen } = parts
  const { rules, store, onStoreFailure, leases, clock, shards } = settings
  const onShards = shards && createSharded(parts, shards)

  function decide(
    kind: Check['kind'],
    partition: unknown,
    call: ConsumeOptions = NO_OPTIONS,
  ): Promise<Decision> {
    try {
      expectOpen()
      expectCall(call, rules.all, settings.countInstances)
      const { plan, onStoreFailure: mode = onStoreFailure } = call
      if (mode !== onStoreFailure) {
        if (leases !== undefined) expectNoLocal(mode)
        fallback.expect(mode)
      }
      if (typeof plan === 'function') return planned(kind, partition, call, mode, plan)
      const chosen = rules.policiesOf(plan)
      return Promise.resolve(judged(new Case(kind, partition, call, mode, chosen, clock.now())))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** By a plan that is to be found out first. */
  async function planned(
    kind: Check['kind'],
    partition: unknown,
    call: ConsumeOptions,
    mode: OnStoreFailure,
    planOf: () => string | Promise<string>,
  ): Promise<Decision> {
    let plan: string
    try {
      plan = await ask.inTime(Promise.resolve(planOf()))
    } catch (error) {
      // What the function itself throws is the caller's; only its lateness is ours.
      if (error instanceof StoreError) return conclude.withoutStore(error, mode)
      throw error
    }
    return judged(new Case(kind, partition, call, mode, rules.policiesOf(plan), clock.now()))
  }

  function judged(one: Case): Decision | Promise<Decision> {
    const { kind, partition, call, chosen, sentMs } = one
    const leasable = leases && chargesOf(partition, call, chosen.all, kinds, store.slotBy)
    const leased = leasable && conclude.fromLease(kind, call, leasable, chosen.plan, sentMs)
    if (leased !== undefined) return leased
    // A candidate has its own say on every call, so none is answered without the store.
    const caller = chosen.candidate.length === 0 ? callerFor(one) : undefined
    if (onShards !== undefined) return onShards(one, caller).then((decision) => marked(one, decision))
    const denied = remembered(one, caller)
    if (denied !== undefined) return denied
    const charges = leasable ?? chargesOf(partition, call, chosen.all, kinds, store.slotBy)
    const asked = askedFrom(chosen, charges)
    if (asked.impossible.length > 0 && !asksAnyway(asked))
      return marked(one, conclude.impossible(kind, asked, chosen.plan))
    const op = opFor(kind, asked, call, settings)
    let answer: Reply | Promise<Reply>
    try {
      answer = fallback.ask(op)
    } catch (error) {
      return unanswered(one, asked, op, error)
    }
    if (answer instanceof Promise) return awaited(one, asked, op, caller, answer)
    return answered(one, asked, op, caller, answer)
  }

  async function awaited(
    one: Case,
    asked: Asked,
    op: Check,
    caller: string | undefined,
    answer: Promise<Reply>,
  ): Promise<Decision> {
    let reply: Reply
    try {
      reply = await answer
    } catch (error) {
      return unanswered(one, asked, op, error)
    }
    return answered(one, asked, op, caller, reply)
  }

  function answered(one: Case, asked: Asked, op: Check, caller: string | undefined, reply: Reply): Decision {
    const decision = conclude.answered(op, reply, asked, one.chosen.plan)
    denials?.keep(caller, asked.charges, decision, one.sentMs)
    return marked(one, decision)
  }

  function unanswered(one: Case, asked: Asked, op: Check, error: unknown): Decision {
    const { kind, mode, chosen } = one
    if (asked.impossible.length === 0) return marked(one, conclude.withoutStore(error, mode, op, chosen.plan))
    fallback.failed(error, mode)
    return marked(one, conclude.impossible(kind, asked, chosen.plan))
  }

  /** The refusal of a caller that still holds. */
  function remembered(one: Case, caller: string | undefined): Decision | undefined {
    const { kind, partition, call, chosen, sentMs } = one
    const denial = denials?.find(caller, sentMs)
    const again = denial && repeated(denial, call.cost, sentMs)
    if (denial === undefined || again === undefined) return undefined
    if (kind === 'consume') {
      denial.offences ??= offenders.offences(partition, again.violated, chosen.policies)
      offenders.count(denial.offences, sentMs)
    }
    return conclude.noted(again)
  }

  /** Whose refusals are remembered; nobody's where the call has an id, since the store may know its answer. */
  function callerFor({ partition, call, chosen: { plan, perScope } }: Case): string | undefined {
    if (denials === undefined || call.id !== undefined) return undefined
    return callerOf(partition, perScope ? (call.scope ?? '') : undefined, plan, kinds)
  }

  /** Keeps in mind who was refused. */
  function marked({ kind, partition, chosen, sentMs }: Case, decision: Decision): Decision {
    if (!decision.allowed && kind === 'consume' && 'violated' in decision)
      offenders.count(offenders.offences(partition, decision.violated, chosen.policies), sentMs)
    return decision
  }

  return decide
}
