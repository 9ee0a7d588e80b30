import { Heap } from './heap.js'
import type { Waiter } from './queue.js'

/** The waiting calls of one route: the first holds back the rest, whatever other routes do. */
export class Lane {
  readonly #order: Heap<Waiter> = new Heap(goesFirst)
  readonly #deadlines: Heap<Waiter> = new Heap((a, b) => a.deadlineMs < b.deadlineMs)
  /** What holds its calls, as far as that was looked up. */
  keys: readonly string[]

  constructor(keys: readonly string[] = []) {
    this.keys = keys
  }

  get size(): number {
    return this.#order.size
  }

  /** The call that goes next. */
  get first(): Waiter | undefined {
    return this.#order.peek()
  }

  /** The call whose time is up next. */
  get soonest(): Waiter | undefined {
    return this.#deadlines.peek()
  }

  push(waiter: Waiter): void {
    this.#order.push(waiter)
    this.#deadlines.push(waiter)
  }

  remove(waiter: Waiter): void {
    this.#order.remove(waiter)
    this.#deadlines.remove(waiter)
  }
}

/** By priority, and among equals by arrival. */
export function goesFirst(a: Waiter, b: Waiter): boolean {
  return a.priority === b.priority ? a.arrival < b.arrival : a.priority > b.priority
}
