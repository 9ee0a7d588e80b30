import type { Quota } from './quota.js'
import type { Mode } from './votes.js'

/** What one answer says about the level now: the most and the least units that can be left. */
export interface Bounds {
  readonly most: number
  readonly least: number
}

/** What an answer and the calls around it come to. */
export interface Seen {
  readonly available: number
  /** Units that came back since the answered call was sent, at most and at least. */
  readonly returnedAtMost: number
  readonly returnedAtLeast: number
  /** Own units that the server cannot have counted in this answer. */
  readonly after: number
  /** Own units that it need not have counted, those among them. */
  readonly perhapsLater: number
}

/** A unit in the making is not stated: `r` is rounded down. */
const unstatedPart = 0.999

/** The level that an answer leaves possible. */
export function bounds(seen: Seen, mode: Mode, quota: Quota, jitterMs: number): Bounds {
  const blur = mode === 'bucket' ? quota.ratePerMs * jitterMs : 0
  const slack = mode === 'bucket' ? unstatedPart + blur : 0
  const most = seen.available + seen.returnedAtMost - seen.after + slack
  const least = Math.min(quota.units, seen.available + seen.returnedAtLeast) - seen.perhapsLater
  return { most, least }
}

/** Units left on a bucket after `elapsedMs` of refilling. */
export function refilled(units: number, quota: Quota, elapsedMs: number): number {
  return Math.min(quota.units, units + quota.ratePerMs * Math.max(0, elapsedMs))
}

/** How much of a bucket is kept back for callers that come late, while more is queued than it holds. */
export function reserve(units: number, quota: Quota, queued: number): number {
  return queued > units ? Math.min(2, quota.units / 5) : 0
}

/**
 * What a call needs to find in a bucket: its cost, a margin for what its delay may hide, and the reserve; never
 * more than the bucket can hold, so that a call dearer than the quota goes when the bucket is full.
 */
export function needed(cost: number, units: number, quota: Quota, queued: number, jitterMs: number): number {
  const margin = Math.min(1, quota.ratePerMs * jitterMs)
  return Math.min(quota.units, cost + margin + reserve(units, quota, queued))
}
