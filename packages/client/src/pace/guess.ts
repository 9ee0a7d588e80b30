import type { OwnCall } from './own-calls.js'
import type { Quota } from './quota.js'
import { type Evidence, type Mode, Votes } from './votes.js'

/** Units of refilling that a pause waits for: enough to show in whole units, whatever the delays hide. */
const pauseUnits = 2
const longestPauseMs = 15_000
const doubtAfter = 3
/** After so many pauses that told nothing no more are made. */
const mostPauses = 4

/**
 * Finds out how a limit gives back where the server does not say: by what answers show in passing, and by a pause
 * before the last units are spent, in which a bucket must refill and a window must not.
 */
export class Guess {
  mode: Mode = 'unknown'
  readonly #votes = new Votes()
  #testing: OwnCall | undefined
  #refusals = 0
  #pauses = 0

  /** The server says how it refills: no guessing. */
  told(refill: Quota['refill']): void {
    if (refill !== undefined) this.mode = refill === 'bucket' || refill === 'counter' ? 'bucket' : 'window'
  }

  /** It is a window that gives all back at once, as far as is known. */
  steps({ refill }: Quota): boolean {
    return this.mode === 'window' && (refill === undefined ? this.#votes.steps : refill === 'window')
  }

  /**
   * How long the next call should wait after the last one, so that its answer tells; 0 when there is nothing to find
   * out, or when finding out would cost more than it is worth. A quota so small that all of it comes back in the
   * pause, whichever way, is never tested: own returns pace it well enough.
   */
  pauseMs(units: number, quota: Quota, jitterMs: number): number {
    if (this.mode !== 'unknown' || quota.ratePerMs === 0 || this.cannotTell(quota)) return 0
    if (units > Math.max(1, Math.min(3, quota.units / 4))) return 0
    const pause = pauseUnits / quota.ratePerMs + 2 * jitterMs
    return pause <= longestPauseMs ? pause : 0
  }

  /** How the limit gives back stays unknown, pauses or not. */
  cannotTell({ units }: Quota): boolean {
    return this.mode === 'unknown' && (this.#pauses >= mostPauses || units <= pauseUnits)
  }

  /** This call goes after a pause: its answer tells. */
  paused(call: OwnCall): void {
    this.#testing = call
  }

  /**
   * A call surely comes back a window after it went. Not so on a sliding counter, which forgets in its own time; a
   * limit that goes on refusing what should be there is taken for one.
   */
  trustsReturns({ refill }: Quota): boolean {
    return refill !== undefined || this.#refusals < doubtAfter
  }

  /**
   * Weighs an answer.
   * @param explained own calls account for all that is used, and nobody else is known
   */
  weigh(
    call: OwnCall,
    evidence: Evidence,
    quota: Quota,
    refusedHere: boolean,
    explained: boolean,
    contested: boolean,
  ): void {
    if (quota.refill !== undefined || quota.ratePerMs === 0) return
    this.#votes.weigh(evidence, quota, contested)
    if (this.#testing === call) {
      this.#testing = undefined
      this.#pauses += 1
      const { previous, available, sentBetween, taken } = evidence
      const still = previous !== undefined && available <= previous.available - sentBetween - taken
      if (still) this.#votes.forWindow(2)
    }
    if (refusedHere) {
      if (this.mode !== 'bucket') this.#refusals += 1
      else if (explained) this.#votes.forWindow(1)
    }
    this.mode = this.#votes.decide(this.mode)
  }
}
