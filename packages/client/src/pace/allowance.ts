import type { Flight } from './pace.js'
import { patienceMs } from './patience.js'
import { never } from './quota.js'

/** How far below the rate learned it starts again. */
const caution = 0.9
/** Bounds of the time in which the learned rate may double. */
const doublingMs = { least: 10_000, most: 60_000 }
const callsToDouble = 5
/** After so many doubling times without a refusal the rate has grown 500-fold, and is forgotten. */
const rememberedFor = 3

/**
 * What a client grants itself where a service refuses without saying what it allows. After the first refusal calls
 * go one at a time, and each accepted answer lets one more be in flight. What was accepted from one refusal to the
 * next is the rate that the service allows: from then on calls are spaced by it. Without refusals the rate grows, slowly
 * at first and then fast, until all of it is forgotten; a service that never refuses is never held back.
 */
export class Allowance {
  /** The send of the refusal that began this stretch, and the arrival of its answer. */
  #sinceMs = 0
  #closedAtMs: number = -never
  /** When calls may go again after it; Infinity while no refusal is remembered. */
  #openMs: number = never
  #ratePerMs: number = never
  #most = 1
  #accepted = 0
  /** Time in which a call could have gone, and none was there. */
  #idleMs = 0
  #lastSendMs: number = -never
  #lastAnswerMs: number = -never
  readonly #flying = new Set<Flight>()

  nextMs(nowMs: number, answerMs: number = patienceMs): number {
    if (this.isForgotten(nowMs)) return nowMs
    if (this.#ratePerMs < never) return Math.max(nowMs, this.#spacedMs(nowMs))
    return this.#flying.size < this.#most ? nowMs : Math.max(nowMs, this.#lastSendMs + answerMs)
  }

  sent(flight: Flight): void {
    const { sentAtMs } = flight
    if (this.isForgotten(sentAtMs)) {
      if (this.#openMs < never) this.#forget()
      return
    }
    const learned = this.#ratePerMs < never
    const couldMs = learned ? this.#spacedMs(sentAtMs) : Math.max(this.#lastSendMs, this.#lastAnswerMs)
    this.#idleMs += Math.max(0, sentAtMs - Math.max(this.#openMs, couldMs))
    this.#lastSendMs = sentAtMs
    this.#flying.add(flight)
  }

  lost(flight: Flight): void {
    this.#flying.delete(flight)
  }

  accepted(flight: Flight, nowMs: number): void {
    this.#flying.delete(flight)
    if (flight.sentAtMs < this.#closedAtMs) return
    this.#lastAnswerMs = nowMs
    this.#accepted += 1
    this.#most += 1
  }

  /** @param openMs when calls may go again */
  refused(flight: Flight, nowMs: number, openMs: number): void {
    this.#flying.delete(flight)
    if (this.isForgotten(nowMs)) this.#forget()
    else if (flight.sentAtMs < this.#closedAtMs) {
      this.#openMs = Math.max(this.#openMs, openMs)
      return
    } else this.#learn(flight.sentAtMs, openMs - nowMs)
    this.#sinceMs = flight.sentAtMs
    this.#closedAtMs = nowMs
    this.#openMs = openMs
    this.#most = 1
    this.#accepted = 0
    this.#idleMs = 0
  }

  /** No refusal is remembered: nothing is held back. */
  isForgotten(nowMs: number): boolean {
    return this.#openMs === never || nowMs > this.#openMs + rememberedFor * this.#doublingMs
  }

  get #doublingMs(): number {
    return Math.min(doublingMs.most, Math.max(doublingMs.least, callsToDouble / this.#ratePerMs))
  }

  #spacedMs(nowMs: number): number {
    return this.#lastSendMs + 1 / this.#grownAt(nowMs)
  }

  #grownAt(nowMs: number): number {
    return this.#ratePerMs * 2 ** ((Math.max(0, nowMs - this.#openMs) / this.#doublingMs) ** 2)
  }

  /**
   * A probe that is refused at once says that the wait was short, and nothing of the rate. Once in two of the waits asked for is
   * always allowed: a service that refuses whatever the rate is would slow calls down for ever.
   */
  #learn(refusedMs: number, waitMs: number): void {
    if (this.#accepted === 0) return
    const busyMs = Math.max(1, refusedMs - this.#sinceMs - this.#idleMs)
    const learned = caution * Math.min(this.#accepted / busyMs, this.#grownAt(refusedMs))
    this.#ratePerMs = Math.max(learned, 0.5 / Math.max(1, waitMs))
  }

  #forget(): void {
    this.#openMs = never
    this.#ratePerMs = never
    this.#closedAtMs = -never
    this.#flying.clear()
  }
}
