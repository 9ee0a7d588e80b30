import type { ServiceLimit } from '@ratepact/contract'
import type { OwnCall } from './own-call.js'
import type { OwnCalls } from './own-calls.js'
import type { Quota } from './quota.js'
import type { RoundTrip } from './round-trip.js'
import type { Evidence } from './votes.js'

/** What an answer is read against. */
export interface Reckoning {
  readonly own: OwnCalls
  readonly roundTrip: RoundTrip
  readonly quota: Quota
  readonly nowMs: number
}

/** What the answer to a call shows, beside the own calls around it. */
export function evidenceOf(
  call: OwnCall,
  limit: ServiceLimit,
  previous: Evidence['previous'],
  endMs: number,
  { own, roundTrip, quota, nowMs }: Reckoning,
): Evidence {
  const { leastMs, jitterMs } = roundTrip
  const early = call.atMs - 2 * jitterMs
  const seconds = limit.effectiveWindowSeconds
  return {
    atMs: call.atMs,
    available: Math.min(limit.available, quota.units),
    ...(seconds === undefined ? {} : { effectiveWindowSeconds: seconds }),
    taken: call.units,
    ...(previous === undefined ? {} : { previous }),
    sentBetween: previous === undefined ? 0 : own.sentBetween(previous.atMs, early, call),
    outstanding: own.outstanding(nowMs - leastMs - quota.windowMs, early),
    maybe: own.sentBetween(early, call.atMs + 2 * jitterMs, call),
    endMs,
    jitterMs,
  }
}

/** Own calls account for all that is used. */
export function ownExplain(evidence: Evidence, { own, quota }: Reckoning): boolean {
  const { atMs, jitterMs } = evidence
  const mine = own.used(atMs - quota.windowMs, atMs + 2 * jitterMs)
  return quota.units - evidence.available - mine < 1
}
