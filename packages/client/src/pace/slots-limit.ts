import { Limit, type Reading } from './limit.js'
import type { Flight } from './pace.js'
import { never } from './quota.js'

/**
 * A limit on calls in progress (`concurrent-requests`): `r` is the free slots when the answered call was admitted.
 * The call itself and those of ours that were under way when it was sent held a slot each; so that many and the
 * free ones may be ours together. A server counts a call until the body of its answer has ended, and so does this.
 */
export class SlotsLimit extends Limit<number> {
  readonly kind = 'slots'
  #allowed: number = never
  #newestAtMs: number = -never
  /** Calls whose answers' bodies are on their way, and until when they count. */
  readonly #streaming = new Map<Flight, number>()

  nextMs(nowMs: number, _cost = 1, _queued = 1, _believeMs = 0, answerMs = 0): number {
    if (this.#taken(nowMs) < Math.max(1, this.#most)) return nowMs
    return answerMs < never ? Math.min(...this.#streaming.values()) : never
  }

  override keep(flight: Flight, untilMs: number): void {
    this.#streaming.set(flight, untilMs)
  }

  override isFresh(nowMs: number): boolean {
    return this.#taken(nowMs) === 0 && super.isFresh(nowMs)
  }

  #taken(nowMs: number): number {
    for (const [flight, untilMs] of this.#streaming) if (untilMs <= nowMs) this.#streaming.delete(flight)
    return this.flying.size + this.#streaming.size
  }

  get #most(): number {
    return Math.min(this.#allowed, this.quota.units)
  }

  protected available(): number {
    return Math.max(0, this.#most - this.flying.size - this.#streaming.size)
  }

  protected book({ sentAtMs }: Flight): number {
    return this.#taken(sentAtMs)
  }

  protected settle({ sentAtMs }: Flight, beside: number, _nowMs: number, reading?: Reading): void {
    const limit = reading?.limit
    if (limit === undefined || sentAtMs < this.#newestAtMs) return
    this.#newestAtMs = sentAtMs
    this.#allowed = limit.available + beside + (reading?.refused ? 0 : 1)
  }
}
