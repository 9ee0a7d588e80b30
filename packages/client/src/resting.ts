import type { Partition } from './partition.js'

/** How many partitions nobody uses are remembered. */
const mostResting = 1000
/** How many more are, because they must still wait: whoever forgot them would send too early. */
const mostBlocked = 9000

/**
 * The partitions that nobody uses, in order of their last use. What makes room is the oldest whose loss changes
 * no decision; only when far too many must wait, the oldest of those. Each step takes the same time, however many.
 */
export class Resting {
  readonly #forget: (key: string) => void
  /** A Map keeps the order of insertion, so the first entries are the oldest. */
  readonly #recent = new Map<string, Partition>()
  /** Those that had to wait when their time to go came. */
  readonly #blocked = new Map<string, Partition>()
  #round = this.#blocked.entries()

  constructor(forget: (key: string) => void) {
    this.#forget = forget
  }

  /** It is used no more. */
  add(key: string, partition: Partition): void {
    this.remove(key)
    this.#recent.set(key, partition)
    this.#review()
    for (const [oldest, aged] of this.#recent) {
      if (this.#recent.size <= mostResting) return
      if (aged.pace.idle()) this.#drop(oldest)
      else this.#keep(oldest, aged)
    }
  }

  /** It is used again. */
  remove(key: string): void {
    this.#recent.delete(key)
    this.#blocked.delete(key)
  }

  /** Looks at one of those that had to wait, another each time: its wait may be over. */
  #review(): void {
    if (this.#blocked.size === 0) return
    let next = this.#round.next()
    if (next.done === true) {
      this.#round = this.#blocked.entries()
      next = this.#round.next()
    }
    if (next.done === true) return
    const [key, { pace }] = next.value
    if (pace.idle()) this.#drop(key)
  }

  #keep(key: string, partition: Partition): void {
    this.remove(key)
    this.#blocked.set(key, partition)
    if (this.#blocked.size <= mostBlocked) return
    const oldest = this.#blocked.keys().next()
    if (oldest.done !== true) this.#drop(oldest.value)
  }

  #drop(key: string): void {
    this.remove(key)
    this.#forget(key)
  }
}
