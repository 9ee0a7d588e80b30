import { never, type Quota } from './quota.js'

/**
 * How a limit gives its units back: `bucket` steadily, `window` in jumps, `unknown` not found out yet.
 * Unknown and window are paced alike: nothing comes back but what the server must have given back.
 */
export type Mode = 'unknown' | 'bucket' | 'window'

/** What one answer shows of how a limit gives back, in the frame of sends (see RoundTrip). */
export interface Evidence {
  readonly atMs: number
  /** Units left, by the answer. */
  readonly available: number
  /** `t` of the answer, in seconds. */
  readonly effectiveWindowSeconds?: number | undefined
  /** Units this call took: 0 if it was refused. */
  readonly taken: number
  /** The newest earlier answer. */
  readonly previous?: { readonly atMs: number; readonly available: number } | undefined
  /** Own units sent between the two. */
  readonly sentBetween: number
  /** Own units that a rolling window must still count. */
  readonly outstanding: number
  /** Own units that may or may not have arrived before this call. */
  readonly maybe: number
  /** Latest instant of the next give-back, Infinity if unknown. */
  readonly endMs: number
  readonly jitterMs: number
}

/** Units were given back before a rolling window would have done so. */
export function givenBackEarly({ available, outstanding, taken }: Evidence, { units }: Quota): boolean {
  return available + outstanding + taken > units + 0.5
}

/** The case for either mode. Only counts; nothing is forgotten but by halving. */
export class Votes {
  #bucket = 0
  #window = 0
  #stepped = 0

  /** The window, if it is one, gives all back at once. */
  get steps(): boolean {
    return this.#stepped >= 2
  }

  /** Weighs one answer. Needs a policy with quota and window; without one there is nothing to compare with. */
  weigh(evidence: Evidence, quota: Quota, contested = false): void {
    if (quota.ratePerMs === 0) return
    this.#weighTime(evidence, quota)
    if (givenBackEarly(evidence, quota)) this.#weighGiveBack(evidence, quota, contested)
    if (this.#bucket + this.#window > 12) {
      this.#bucket /= 2
      this.#window /= 2
    }
  }

  /** Says that something speaks for a window: a pause brought nothing back, or a bucket refused what it should have. */
  forWindow(votes: number): void {
    this.#window += votes
  }

  decide(mode: Mode): Mode {
    const ahead = this.#window - this.#bucket
    if (this.#bucket >= 2 && ahead < 0) return 'bucket'
    return this.#window >= 2 && ahead > (mode === 'bucket' ? 1 : 0) ? 'window' : mode
  }

  /** What `t` says: buckets state r·w/q (or the time to full), windows the time to their edge. */
  #weighTime(evidence: Evidence, { units, windowMs }: Quota): void {
    const { available, effectiveWindowSeconds: stated, endMs, atMs } = evidence
    if (stated === undefined) return
    const seconds = (of: number): number => Math.ceil((of * windowMs) / (units * 1000))
    const asBucket = Math.max(1, seconds(available))
    const partlyUsed = available < units - 1
    if (available === 0) {
      if (stated >= seconds(1) + 2) this.#countsDown()
    } else if (Math.abs(stated - asBucket) >= 2) {
      if (stated !== seconds(units - available) || !partlyUsed) this.#countsDown()
      // A window states all of its length at its beginning, however much a burst has left of it.
      else if (stated < seconds(units)) this.#bucket += 1
    } else if (endMs - atMs < never && atMs + stated * 1000 < endMs - 2500) {
      if (stated === asBucket && partlyUsed) this.#bucket += 1
    }
  }

  /**
   * How much came back: a jump beyond what refilling explains speaks for a window, a part of it for a bucket.
   * Whole seconds hide how fast a bucket of one second is: it may hold 20 and refill 50 in each. There a jump
   * counts only if it leads back to the top.
   */
  #weighGiveBack(evidence: Evidence, { units, windowMs, ratePerMs }: Quota, contested: boolean): void {
    const { previous, available, taken, maybe, sentBetween, jitterMs, atMs } = evidence
    if (previous === undefined || atMs <= previous.atMs) return
    const refilled = ratePerMs * (atMs - previous.atMs)
    const noise = 1.5 + 2 * ratePerMs * jitterMs
    const room = units - taken - maybe - 1.5
    const hidden = windowMs <= 1000 && available < room - sentBetween
    if (available > previous.available + refilled - sentBetween - taken + noise && !hidden) {
      if (this.#window >= 2 && available >= room) this.#stepped += 1
      this.#window += 2
    } else if (available < room && refilled >= 1) this.#bucket += contested ? 0.5 : 2
  }

  #countsDown(): void {
    this.#window += 1
    this.#stepped += 1
  }
}
