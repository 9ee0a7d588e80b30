import type { Quota } from './quota.js'

/** A call in flight. */
export interface Debit {
  readonly sentAtMs: number
  units: number
}

/**
 * Units that may still be used, by the model. Every call is taken off when it is sent. On a bucket it may land
 * late, though, and a bucket that is full until then refills nothing in the meantime: so for `lateMs` after a send,
 * or until its answer, no more is believed to be there than the quota less what may not have landed.
 */
export class Level {
  units: number
  #atMs: number
  readonly #inFlight: Debit[] = []

  constructor(units: number, nowMs: number) {
    this.units = units
    this.#atMs = nowMs
  }

  /** When the oldest call in flight went; Infinity if none is. */
  get oldestMs(): number {
    return this.#inFlight[0]?.sentAtMs ?? Number.POSITIVE_INFINITY
  }

  spend(units: number, sentAtMs: number): Debit {
    const debit = { sentAtMs, units }
    this.units -= units
    let index = this.#inFlight.length
    while (index > 0 && (this.#inFlight[index - 1]?.sentAtMs ?? 0) > sentAtMs) index -= 1
    this.#inFlight.splice(index, 0, debit)
    return debit
  }

  /** The call is known to have landed, or never will. */
  landed(debit: Debit): void {
    const index = this.#inFlight.indexOf(debit)
    if (index >= 0) this.#inFlight.splice(index, 1)
  }

  /** Time passes, and a bucket refills in it. */
  refill(nowMs: number, quotaUnits: number, ratePerMs: number, lateMs: number): void {
    let index = this.#inFlight.length
    let underWay = 0
    for (; index > 0; index -= 1) {
      const debit = this.#inFlight[index - 1]
      if (debit === undefined || debit.sentAtMs + lateMs <= this.#atMs) break
      underWay += debit.units
    }
    for (; index < this.#inFlight.length; index += 1) {
      const debit = this.#inFlight[index]
      if (debit === undefined || debit.sentAtMs + lateMs > nowMs) break
      this.#step(debit.sentAtMs + lateMs, quotaUnits - underWay, ratePerMs)
      underWay -= debit.units
    }
    this.#step(nowMs, quotaUnits - underWay, ratePerMs)
  }

  /** Time passes, and nothing comes of it. */
  pass(nowMs: number): void {
    this.#atMs = Math.max(this.#atMs, nowMs)
  }

  #step(nowMs: number, most: number, ratePerMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#atMs)
    this.#atMs = Math.max(this.#atMs, nowMs)
    this.units = Math.min(most, this.units + ratePerMs * elapsedMs)
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
