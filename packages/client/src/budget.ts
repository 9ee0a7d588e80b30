import type { Clock } from '@ratepact/contract'

/** How long one call may still wait. Waits add up over its attempts; the time in flight is not waiting. */
export class Budget {
  readonly #clock: Clock
  readonly #endMs: number
  readonly #maxWaitMs: number
  #waitLeftMs: number

  constructor(clock: Clock, maxWaitMs: number, totalTimeoutMs: number) {
    this.#clock = clock
    this.#maxWaitMs = maxWaitMs
    this.#waitLeftMs = maxWaitMs
    this.#endMs = clock.now() + totalTimeoutMs
  }

  /** How long it has waited so far. */
  get waitedMs(): number {
    return this.#maxWaitMs - this.#waitLeftMs
  }

  /** Until the whole call is over; infinite without a total timeout. */
  get totalLeftMs(): number {
    return this.#endMs - this.#clock.now()
  }

  /** How long a wait that starts now may last. */
  get leftMs(): number {
    return Math.min(this.#waitLeftMs, this.totalLeftMs)
  }

  /** Which of the two bounds such a wait. */
  get bound(): 'max-wait' | 'deadline' {
    return this.totalLeftMs < this.#waitLeftMs ? 'deadline' : 'max-wait'
  }

  /** Takes the time until the wait is over off what is left. */
  async spend<T>(wait: Promise<T>): Promise<T> {
    const startMs = this.#clock.now()
    try {
      return await wait
    } finally {
      this.#waitLeftMs -= this.#clock.now() - startMs
    }
  }
}
