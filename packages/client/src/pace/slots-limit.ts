import { Limit, type Reading } from './limit.js'
import type { Flight } from './pace.js'
import { never } from './quota.js'

/**
 * A limit on calls in progress (`concurrent-requests`): `r` is the free slots when the answered call was admitted.
 * The call itself and those of ours that were under way when it was sent held a slot each; so that many and the
 * free ones may be ours together.
 */
export class SlotsLimit extends Limit<number> {
  readonly kind = 'slots'
  #allowed: number = never
  #newestAtMs: number = -never

  nextMs(nowMs: number): number {
    return this.flying.size < Math.max(1, this.#most) ? nowMs : never
  }

  get #most(): number {
    return Math.min(this.#allowed, this.quota.units)
  }

  protected available(): number {
    return Math.max(0, this.#most - this.flying.size)
  }

  protected book(): number {
    return this.flying.size
  }

  protected settle({ sentAtMs }: Flight, beside: number, _nowMs: number, reading?: Reading): void {
    const limit = reading?.limit
    if (limit === undefined || sentAtMs < this.#newestAtMs) return
    this.#newestAtMs = sentAtMs
    this.#allowed = limit.available + beside + (reading?.refused ? 0 : 1)
  }
}
