import type { OwnCall } from './own-calls.js'
import type { Quota } from './quota.js'
import type { RoundTrip } from './round-trip.js'

/** How long an overdue answer makes a client careful. */
const pileUpMs = 2000
const tinyQuota = 4

/**
 * Units that may still be used, by the model. Every call is taken off when it is sent. On a bucket it may land
 * late, though, and a bucket that is full until then refills nothing in the meantime: so for `lateMs` after a send,
 * or until its answer, no more is believed to be there than the quota less what may not have landed.
 */
export class Level {
  units: number
  #atMs: number

  constructor(units: number, nowMs: number) {
    this.units = units
    this.#atMs = nowMs
  }

  /** Time passes, and a bucket refills in it. `flying`: calls on their way, in order, and what they come to. */
  refill(
    nowMs: number,
    { units, ratePerMs }: Quota,
    lateMs: number,
    flying: Iterable<OwnCall>,
    flyingUnits: number,
  ): void {
    const step = (toMs: number, most: number): void => {
      this.units = Math.min(most, this.units + ratePerMs * Math.max(0, toMs - this.#atMs))
      this.pass(toMs)
    }
    // Where there is room for all of it, it does not matter when each lands.
    if (this.units + ratePerMs * Math.max(0, nowMs - this.#atMs) <= units - flyingUnits) {
      step(nowMs, units)
      return
    }
    const late: OwnCall[] = []
    let underWay = 0
    for (const call of flying) {
      if (call.atMs + lateMs <= this.#atMs) continue
      late.push(call)
      underWay += call.units
    }
    for (const call of late) {
      if (call.atMs + lateMs > nowMs) break
      step(call.atMs + lateMs, units - underWay)
      underWay -= call.units
    }
    step(nowMs, units - underWay)
  }

  /** Time passes, and nothing comes of it. */
  pass(nowMs: number): void {
    this.#atMs = Math.max(this.#atMs, nowMs)
  }
}

/**
 * How late a call may land on a bucket: as the network may hide; at most half of what the bucket needs to fill, lest
 * a small fast one hardly be used. When an answer takes longer than any of late, calls may be piling up on a busy
 * server, to be counted all at once: then as late as the oldest in flight, for a while.
 */
export function lateMs(
  { units, ratePerMs }: Quota,
  { jitterMs, mostMs }: RoundTrip,
  oldestForMs: number,
): number {
  const halfFull = units / ratePerMs / 2
  const usual = Math.min(2 * jitterMs, halfFull)
  if (!(oldestForMs > mostMs)) return usual
  return Math.max(usual, Math.min(oldestForMs, units < tinyQuota ? halfFull : pileUpMs))
}

/**
 * What a call needs to find in a bucket: its cost, a margin for what its delay may hide, and, while more is queued
 * than the bucket holds, a reserve that shows callers who come late that units are to be had. The reserve is
 * given up once the level covers the whole queue. Never more than the bucket can hold, so that a call dearer than the
 * quota goes when the bucket is full.
 */
export function needed(cost: number, units: number, quota: Quota, queued: number, jitterMs: number): number {
  const least = cost + Math.min(1, quota.ratePerMs * jitterMs)
  const withReserve = Math.min(least + Math.min(2, quota.units / 5), Math.max(least, queued))
  return Math.min(quota.units, queued > units ? withReserve : least)
}
