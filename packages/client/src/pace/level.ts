import type { Quota } from './quota.js'

interface Debit {
  readonly landsAtMs: number
  readonly units: number
}

/**
 * Units that may still be used, by the model. Every call is taken off when it is sent. On a bucket it may land
 * late, though, and a bucket that is full until then refills nothing in the meantime: so for `lateMs` after a
 * send no more is believed to be there than the quota less what may not have landed.
 */
export class Level {
  units: number
  #atMs: number
  #underWay: Debit[] = []
  #unitsUnderWay = 0

  constructor(units: number, nowMs: number) {
    this.units = units
    this.#atMs = nowMs
  }

  spend(units: number, nowMs: number, lateMs: number): void {
    this.units -= units
    if (lateMs <= 0 || units <= 0) return
    this.#underWay.push({ landsAtMs: nowMs + lateMs, units })
    this.#unitsUnderWay += units
  }

  /** Time passes; a bucket refills in it, a window (`ratePerMs` 0) does not. */
  advance(nowMs: number, quotaUnits: number, ratePerMs: number): void {
    let landed = 0
    for (const debit of this.#underWay) {
      if (debit.landsAtMs > nowMs) break
      this.#step(debit.landsAtMs, quotaUnits, ratePerMs)
      this.#unitsUnderWay -= debit.units
      landed += 1
    }
    if (landed > 0) this.#underWay.splice(0, landed)
    if (this.#underWay.length === 0) this.#unitsUnderWay = 0
    this.#step(nowMs, quotaUnits, ratePerMs)
  }

  #step(nowMs: number, quotaUnits: number, ratePerMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#atMs)
    this.#atMs = Math.max(this.#atMs, nowMs)
    this.units = Math.min(quotaUnits - this.#unitsUnderWay, this.units + ratePerMs * elapsedMs)
  }
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
  /** What may be there beyond what is stated: the part of a unit in the making, and what delays may hide. */
  readonly unstated: number
}

/** The most and the least units that an answer leaves possible now. */
export function bounds(seen: Seen, quotaUnits: number): { readonly most: number; readonly least: number } {
  const most = seen.available + seen.returnedAtMost - seen.after + seen.unstated
  const least = Math.min(quotaUnits, seen.available + seen.returnedAtLeast) - seen.perhapsLater
  return { most, least }
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
