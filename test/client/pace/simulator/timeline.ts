interface Event {
  readonly atMs: number
  readonly order: number
  run(): void
}

const before = (a: Event, b: Event) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)

/** A virtual clock: events run in the order of their instants, equal ones in the order they were made. */
export class Timeline {
  nowMs = 0
  #made = 0
  readonly #heap: Event[] = []

  at(atMs: number, run: () => void): void {
    const event = { atMs, order: this.#made++, run }
    let index = this.#heap.length
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = this.#heap[above]
      if (parent === undefined || before(parent, event)) break
      this.#heap[index] = parent
      index = above
    }
    this.#heap[index] = event
  }

  /** Runs the next event; false if there is none. */
  step(): boolean {
    const event = this.#heap[0]
    const last = this.#heap.pop()
    if (event === undefined || last === undefined) return false
    if (this.#heap.length > 0) this.#sink(last)
    this.nowMs = Math.max(this.nowMs, event.atMs)
    event.run()
    return true
  }

  #sink(event: Event): void {
    let index = 0
    for (;;) {
      let below = 2 * index + 1
      const [left, right] = [this.#heap[below], this.#heap[below + 1]]
      if (left === undefined) break
      if (right !== undefined && before(right, left)) below += 1
      const child = this.#heap[below]
      if (child === undefined || before(event, child)) break
      this.#heap[index] = child
      index = below
    }
    this.#heap[index] = event
  }
}
