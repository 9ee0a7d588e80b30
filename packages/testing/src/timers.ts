/** A wait that was asked for. */
export interface Timer {
  readonly atMs: number
  readonly run: () => void
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

  add(timer: Timer): void {
    let index = this.#order.length
    while (index > 0 && (this.#order[index - 1]?.atMs ?? 0) > timer.atMs) index -= 1
    this.#order.splice(index, 0, timer)
  }

  /** Takes a timer out; whether it was there. */
  remove(timer: unknown): boolean {
    const index = this.#order.indexOf(timer as Timer)
    if (index >= 0) this.#order.splice(index, 1)
    return index >= 0
  }
}
