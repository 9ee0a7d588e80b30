import type { Quota } from './quota.js'
import type { RoundTrip } from './round-trip.js'

/** How long an overdue answer makes a client careful. */
const pileUpMs = 2000
const tinyQuota = 4

/**
 * How late a call may land on a bucket: as the network may hide; at most half of what the bucket needs to fill, lest
 * a small fast one hardly be used. When an answer takes longer than any of late, calls may be piling up on a busy
 * server, to be counted all at once: then as late as the oldest in flight, for a while.
 */
export function lateMs(quota: Quota, roundTrip: RoundTrip, oldestForMs: number): number {
  const halfFull = quota.units / quota.ratePerMs / 2
  const usual = Math.min(2 * roundTrip.jitterMs, halfFull)
  if (!(oldestForMs > roundTrip.mostMs)) return usual
  return Math.max(usual, Math.min(oldestForMs, quota.units < tinyQuota ? halfFull : pileUpMs))
}
