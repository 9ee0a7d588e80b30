/** A wait that was asked for. */
export interface Timer {
  readonly atMs: number
  readonly run: () => void
  /** Whether time goes on for its sake; on a machine's clock, whether it keeps the process alive. */
  readonly isAwaited: boolean
  /** As a timer of Node's has it: the wait goes on, and nothing is to wait for it. */
  unref(): void
}

/** Waits in the order in which they end; those that end together, in the order in which they were asked for. */
export class Timers {
  readonly #order: Timer[] = []

  get size(): number {
    return this.#order.length
  }

  get first(): Timer | undefined {
    return this.#order[0]
  }

  /** The first for whose sake time goes on. */
  get firstAwaited(): Timer | undefined {
    return this.#order.find(({ isAwaited }) => isAwaited)
  }

  add(atMs: number, run: () => void): Timer {
    const timer = {
      atMs,
      run,
      isAwaited: true,
      unref() {
        timer.isAwaited = false
      },
    }
    let index = this.#order.length
    while (index > 0 && (this.#order[index - 1]?.atMs ?? 0) > atMs) index -= 1
    this.#order.splice(index, 0, timer)
    return timer
  }

  /** Takes a timer out; whether it was there. */
  remove(timer: unknown): boolean {
    const index = this.#order.indexOf(timer as Timer)
    if (index >= 0) this.#order.splice(index, 1)
    return index >= 0
  }
}
