import { answerFrom, emptyReadings } from './advance/answer.js'
import type { Leases } from './advance/leases.js'
import type { Check, ConsumeOptions } from './call.js'
import type { Decision } from './decision.js'
import type { Effects } from './effects.js'
import type { Fallback } from './failure/fallback.js'
import type { OnStoreFailure } from './failure/mode.js'
import { decisionOf } from './judge.js'
import type { Draft } from './plain.js'
import { type Receipt, receiptFrom } from './receipt.js'
import type { Shards } from './shard/shards.js'
import type { Charge, Reply } from './store.js'
import type { Happening } from './tell/teller.js'
import { type Asked, shadowOf } from './trial.js'
import type { TrialWatch } from './trial-watch.js'

/** What is needed to conclude: where a decision is noted, and who is told of it. */
export interface ConcludeParts {
  readonly effects: Effects<string>
  readonly fallback: Fallback
  readonly leases: Leases | undefined
  readonly shards: Shards | undefined
  readonly trials: TrialWatch
  readonly scopeKeys: (scope: string) => Uint8Array
  readonly tell: ((event: Happening) => void) | undefined
}

/** What becomes of a call, by who answers it. Each decision is noted, so that it can be given back. */
export interface Conclude {
  /** By the answer of the store. */
  answered(op: Check, reply: Reply, asked: Asked, plan: string | undefined): Decision
  /** By what there is without the store, which failed. */
  withoutStore(error: unknown, mode: OnStoreFailure, op?: Check, plan?: string): Decision
  /** By what this process holds, if that is enough. */
  fromLease(
    kind: Check['kind'],
    call: ConsumeOptions,
    charges: readonly Charge[],
    plan: string | undefined,
    nowMs: number,
  ): Decision | undefined
  /** A call that costs more than is ever granted. */
  impossible(kind: Check['kind'], asked: Asked, plan: string | undefined): Decision
  /** By a decision that has been made. */
  noted(decision: Decision): Decision
}

export function createConclude(parts: ConcludeParts): Conclude {
  const { effects, fallback, leases, shards, trials, scopeKeys, tell } = parts

  function withoutStore(error: unknown, mode: OnStoreFailure, op?: Check, plan?: string): Decision {
    const { decision, receipt } = fallback.decide(error, mode, op)
    if (op === undefined) return noted(decision, receipt)
    return noted(planned(decision, plan), receipt)
  }

  function answered(op: Check, reply: Reply, asked: Asked, plan: string | undefined): Decision {
    fallback.answered(op, reply)
    if (reply.healed.length > 0) tellHealed(asked, reply)
    if (asked.impossible.length > 0) return finished(op.kind, impossibleOf(asked, plan, reply))
    const shadow = shadowOf(asked, reply, scopeKeys)
    const said: Decision = decisionOf(asked.charges, reply, op.kind === 'consume', shadow, scopeKeys)
    const decision = planned(shards === undefined ? said : shards.whole(said, asked.charges), plan)
    if (op.kind !== 'consume') return noted(decision)
    leases?.note(asked.charges, decision)
    const charged =
      leases === undefined ? reply : { ...reply, readings: emptyReadings(asked.charges, reply.readings) }
    return finished(op.kind, decision, receiptFrom(op, charged))
  }

  function impossibleOf(asked: Asked, plan: string | undefined, reply?: Reply): Decision {
    const shadow = shadowOf(asked, reply, scopeKeys)
    const { impossible: violated } = asked
    return planned({ outcome: 'impossible', allowed: false, violated, source: 'none', shadow }, plan)
  }

  function finished(kind: Check['kind'], decision: Decision, receipt?: Receipt): Decision {
    if (kind === 'consume' && decision.shadow.length > 0) trials.decided(decision)
    return noted(decision, receipt)
  }

  /** The answer to a call for which this process holds enough. */
  function fromLease(
    kind: Check['kind'],
    call: ConsumeOptions,
    charges: readonly Charge[],
    plan: string | undefined,
    nowMs: number,
  ): Decision | undefined {
    if (leases === undefined || call.id !== undefined) return undefined
    const answer = answerFrom(leases, charges, kind === 'consume', nowMs, scopeKeys)
    return answer && noted(planned(answer.decision, plan), answer.receipt)
  }

  function noted(decision: Decision, receipt?: Receipt): Decision {
    effects.remember(decision, receipt)
    if (decision.outcome === 'refused')
      tell?.({ type: 'refused', violated: decision.violated, source: decision.source })
    return decision
  }

  function tellHealed({ charges, trials }: Asked, { healed }: Reply): void {
    const all = [...charges, ...trials.flatMap((trial) => trial.charges)]
    for (const index of healed) {
      const charge = all[index]
      if (charge !== undefined) tell?.({ type: 'healed', policy: charge.policy.name, owner: charge.owner })
    }
  }

  return {
    answered,
    withoutStore,
    fromLease,
    impossible: (kind, asked, plan) => finished(kind, impossibleOf(asked, plan)),
    noted,
  }
}

function planned<D extends Decision>(decision: D, plan: string | undefined): D {
  // It has just been made, and nobody has it yet.
  if (plan !== undefined) (decision as Draft<Decision>).plan = plan
  return decision
}
