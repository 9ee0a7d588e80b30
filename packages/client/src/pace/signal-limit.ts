import { Limit, type Reading } from './limit.js'
import type { Flight } from './pace.js'
import { patienceMs } from './patience.js'
import { never } from './quota.js'
import { statedMs } from './stated.js'

const firstPauseMs = 1000
const pauseCapMs = 60_000

/**
 * A limit in units that a client cannot count before it sends (bytes, tokens, unknown ones), or with a quota of
 * 0: nothing left means stop, anything else means nothing. After the stated wait, or a growing pause with full
 * jitter where none is stated, one call asks again.
 */
export class SignalLimit extends Limit<true> {
  readonly kind = 'signal'
  #left: number = never
  #untilMs: number = -never
  /** When the stated wait ends, however much of it is believed, and when it was stated. */
  #toldUntilMs: number = -never
  #toldAtMs = 0
  #newestAtMs: number = -never
  #askedAtMs: number = -never
  #silent = 0

  nextMs(
    nowMs: number,
    _cost?: number,
    _queued?: number,
    believeMs = 0,
    answerMs: number = patienceMs,
  ): number {
    if (this.#left > 0 || this.gate.overrides) return nowMs
    const untilMs = Math.max(this.#untilMs, Math.min(this.#toldUntilMs, this.#toldAtMs + believeMs))
    if (nowMs < untilMs) return untilMs
    const asking = this.#askedAtMs >= this.#untilMs && this.flying.size > 0
    return asking ? Math.max(nowMs, this.#askedAtMs + answerMs) : nowMs
  }

  protected available(): number {
    return Math.min(this.#left, this.quota.units)
  }

  protected book({ sentAtMs }: Flight): true {
    this.#askedAtMs = Math.max(this.#askedAtMs, sentAtMs)
    return true
  }

  protected settle({ sentAtMs }: Flight, _booked: true, nowMs: number, reading?: Reading): void {
    const limit = reading?.limit
    if (limit === undefined || sentAtMs < this.#newestAtMs) return
    this.#newestAtMs = sentAtMs
    this.#left = limit.available
    if (limit.available > 0) {
      this.#silent = 0
      return
    }
    const stated = statedMs(limit)
    this.#toldUntilMs = nowMs + stated
    this.#toldAtMs = nowMs
    this.#untilMs = nowMs + Math.min(this.parts.around.maxBlockMs, stated > 0 ? stated : this.#pauseMs())
  }

  #pauseMs(): number {
    const full = Math.min(pauseCapMs, firstPauseMs * 2 ** this.#silent)
    this.#silent = Math.min(30, this.#silent + 1)
    return full * this.parts.around.random()
  }
}
