import type { Quota } from './quota.js'

/**
 * How a limit gives its units back: `bucket` steadily, `window` in jumps, `unknown` not found out yet.
 * Unknown and window are paced alike: nothing comes back but what the server must have given back.
 */
export type Mode = 'unknown' | 'bucket' | 'window'

/** What one answer shows, in the frame of sends (see RoundTrip). */
export interface Evidence {
  readonly atMs: number
  /** Units left, by the answer. */
  readonly available: number
  /** `t` of the answer, in seconds. */
  readonly effectiveWindowSeconds?: number
  /** Units this call took: 0 if it was refused. */
  readonly taken: number
  /** The newest earlier answer. */
  readonly previous?: { readonly atMs: number; readonly available: number }
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
export function givenBackEarly(evidence: Evidence, quota: Quota): boolean {
  return evidence.available + evidence.outstanding + evidence.taken > quota.units + 0.5
}

/** The case for either mode. Only counts; nothing is forgotten but by halving. */
export class Votes {
  #bucket = 0
  #window = 0

  /** Weighs one answer. Needs a policy with quota and window; without one there is nothing to compare with. */
  weigh(evidence: Evidence, quota: Quota): void {
    if (quota.ratePerMs === 0) return
    this.#weighTime(evidence, quota)
    if (givenBackEarly(evidence, quota)) this.#weighGiveBack(evidence, quota)
    if (this.#bucket + this.#window > 12) {
      this.#bucket /= 2
      this.#window /= 2
    }
  }

  /** A pause brought nothing back, which a bucket would have done. */
  pauseBroughtNothing(): void {
    this.#window += 2
  }

  /** A bucket refused although own calls explain all that was used. */
  refusedUnexplained(): void {
    this.#window += 1
  }

  decide(mode: Mode): Mode {
    const leaving = mode === 'bucket' ? 1 : 0
    if (this.#bucket >= 2 && this.#bucket > this.#window) return 'bucket'
    if (this.#window >= 2 && this.#window > this.#bucket + leaving) return 'window'
    return mode
  }

  /** What `t` says: buckets state r·w/q (or the time to full), windows the time to their edge. */
  #weighTime(evidence: Evidence, quota: Quota): void {
    const stated = evidence.effectiveWindowSeconds
    if (stated === undefined) return
    const { available } = evidence
    const seconds = (units: number) => Math.ceil((units * quota.windowMs) / (quota.units * 1000))
    if (available === 0) {
      if (stated >= seconds(1) + 2) this.#window += 1
      return
    }
    const asBucket = Math.max(1, seconds(available))
    const toFull = seconds(quota.units - available)
    const partlyUsed = available < quota.units - 1
    if (Math.abs(stated - asBucket) >= 2) {
      if (stated !== toFull || !partlyUsed) this.#window += 1
      // A window states all of its length at its beginning, however much a burst has left of it.
      else if (stated < seconds(quota.units)) this.#bucket += 1
      return
    }
    const edgeKnown = evidence.endMs < Number.POSITIVE_INFINITY
    const beforeEdge = edgeKnown && evidence.atMs + stated * 1000 < evidence.endMs - 2500
    if (beforeEdge && stated === asBucket && partlyUsed) this.#bucket += 1
  }

  /**
   * How much came back: a jump beyond what refilling explains speaks for a window, a part of it for a bucket.
   * Whole seconds hide how fast a bucket of one second is: it may hold 20 and refill 50 in each. There a jump
   * counts only if it leads back to the top.
   */
  #weighGiveBack(evidence: Evidence, quota: Quota): void {
    const { previous, available, taken } = evidence
    if (previous === undefined || evidence.atMs <= previous.atMs) return
    const refilled = quota.ratePerMs * (evidence.atMs - previous.atMs)
    const noise = 1.5 + 2 * quota.ratePerMs * evidence.jitterMs
    const room = quota.units - taken - evidence.maybe - 1.5
    const hidden = quota.windowMs <= 1000 && available < room - evidence.sentBetween
    const jumped = available > previous.available + refilled - evidence.sentBetween - taken + noise
    if (jumped && !hidden) this.#window += 2
    else if (available < room && refilled >= 1) this.#bucket += 2
  }
}
