import type { Clock } from '@ratepact/contract'

/** As many retries may come at once, and one more each second, whatever else is sent. */
const mostSaved = 100
const atFirst = 10
const perMs = 0.001

/**
 * How many retries one partition may still add to what it sends anyway, so that a service in trouble is not asked
 * many times as often. It fills with time too: a healthy service gets its retries within seconds.
 */
export class RetryBudget {
  readonly #clock: Pick<Clock, 'now'>
  readonly #share: number
  #saved = atFirst
  #atMs: number

  /** @param share retries for each call sent for the first time */
  constructor(clock: Pick<Clock, 'now'>, share: number) {
    this.#clock = clock
    this.#share = share
    this.#atMs = clock.now()
  }

  /** A call is sent for the first time. */
  sent(): void {
    this.#save(this.#share)
  }

  /** @returns whether one more retry may be made, which is then taken off */
  take(): boolean {
    const nowMs = this.#clock.now()
    this.#save((nowMs - this.#atMs) * perMs)
    this.#atMs = nowMs
    if (this.#saved < 1) return false
    this.#saved -= 1
    return true
  }

  #save(retries: number): void {
    this.#saved = Math.min(mostSaved, this.#saved + retries)
  }
}
