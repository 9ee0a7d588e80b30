import { type Case, chargesOf, opFor } from '../call.js'
import type { Conclude } from '../conclude.js'
import type { Decision } from '../decision.js'
import { repeated } from '../denial.js'
import type { DenyCache } from '../deny-cache.js'
import type { Fallback } from '../failure/fallback.js'
import type { Settings } from '../limiter-options.js'
import type { Reply } from '../store.js'
import { askedFrom } from '../trial.js'
import type { Shards, Spread } from './shards.js'

/** Who answers for the store or instead of it, and what it takes to ask. */
export interface AskParts {
  readonly settings: Settings
  readonly kinds: readonly string[]
  readonly fallback: Fallback
  readonly denials: DenyCache<string> | undefined
  readonly conclude: Conclude
}

/** Decides a call on shards: what refuses it on one tries one other. @param caller whose refusals are remembered */
export type Sharded = (one: Case, caller: string | undefined) => Promise<Decision>

export function createSharded(parts: AskParts, own: Shards): Sharded {
  const { settings, kinds, fallback, denials, conclude } = parts
  const { store, clock } = settings

  async function sharded(one: Case, caller: string | undefined): Promise<Decision> {
    const { kind, partition, call, chosen } = one
    const charges = chargesOf(partition, call, chosen.policies, kinds, store.slotBy)
    const dearer = own.dearer(charges)
    if (dearer.length > 0) return conclude.impossible(kind, askedFrom(chosen, charges, dearer), chosen.plan)
    const spread = own.spread(charges, call.id)
    const first = await attempt(one, spread, caller)
    // By its id a call is remembered on one shard only.
    if (first.outcome !== 'refused' || call.id !== undefined) return first
    const other = own.elsewhere(charges, spread, first.violated)
    const second = other && (await attempt(one, other, caller))
    if (second === undefined || second.source === 'none') return first
    const sooner = second.outcome !== 'refused' || second.retryAfterSeconds < first.retryAfterSeconds
    return sooner ? second : first
  }

  async function attempt(
    one: Case,
    { charges, picks }: Spread,
    caller: string | undefined,
  ): Promise<Decision> {
    const { kind, call, mode, chosen } = one
    const sentMs = clock.now()
    const where = caller && `${[...picks.values()].join(' ')} ${caller}`
    const denial = denials?.find(where, sentMs)
    const again = denial && repeated(denial, call.cost, sentMs)
    if (again !== undefined) return conclude.noted(again)
    const asked = askedFrom(chosen, charges)
    const op = opFor(kind, asked, call, settings)
    let reply: Reply
    try {
      reply = await fallback.ask(op)
    } catch (error) {
      return conclude.withoutStore(error, mode, op, chosen.plan)
    }
    const decision = conclude.answered(op, reply, asked, chosen.plan)
    denials?.keep(where, charges, decision, sentMs)
    return decision
  }

  return sharded
}
