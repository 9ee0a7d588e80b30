import type { Partition } from './partition.js'

/** How many partitions nobody uses are remembered. */
const mostResting = 1000
/** How many more are, because they must still wait: whoever forgot them would send too early. */
const mostBlocked = 9000

/**
 * The partitions that nobody uses, in order of their last use. What makes room is the oldest whose loss changes
 * no decision; only when far too many must wait, the oldest of those. Each step takes the same time, however many.
 * One that is used again is taken out when it is met: it comes back when it rests.
 */
export class Resting {
  readonly #forget: (key: string) => void
  /** A Map keeps the order of insertion, so the first entries are the oldest. */
  readonly #recent = new Map<string, Partition>()
  /** Those that had to wait when their time to go came. */
  readonly #blocked = new Map<string, Partition>()
  #round = this.#blocked.entries()
  #newest: Partition | undefined

  constructor(forget: (key: string) => void) {
    this.#forget = forget
  }

  /** It is used no more. */
  add(key: string, partition: Partition): void {
    // Calls to one partition alone, one after another, move nothing.
    if (partition !== this.#newest) {
      this.#remove(key)
      this.#recent.set(key, partition)
      this.#newest = partition
    }
    this.#review()
    for (const [oldest, aged] of this.#recent) {
      if (this.#recent.size <= mostResting) return
      if (!this.#goes(oldest, aged, aged.pace.idle())) this.#keep(oldest, aged)
    }
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
    const [key, partition] = next.value
    this.#goes(key, partition, partition.pace.idle())
  }

  #keep(key: string, partition: Partition): void {
    this.#remove(key)
    this.#blocked.set(key, partition)
    for (const [oldest, aged] of this.#blocked) {
      if (this.#blocked.size <= mostBlocked) return
      this.#goes(oldest, aged, true)
    }
  }

  /** Takes it out if it is used, forgets it if it may be. @returns whether it did either */
  #goes(key: string, { busy }: Partition, forgettable: boolean): boolean {
    if (!busy && !forgettable) return false
    this.#remove(key)
    if (!busy) this.#forget(key)
    return true
  }

  #remove(key: string): void {
    if (this.#recent.delete(key)) this.#newest = undefined
    this.#blocked.delete(key)
  }
}
