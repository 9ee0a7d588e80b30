import { never } from './quota.js'

const fresh = 4
const free = 64

/**
 * How many calls may be in flight at once under a limit that has just been met: few at first, so that others who
 * share it show in the answers before it is spent; twice as many after each later answer that shows none; at last any
 * number. A limit that was known before its first answer is not met in this way, and not bounded.
 */
export class Burst {
  #most: number = never

  /** The first answer has come; on an untouched quota nobody else seems to be about. */
  begin(untouched: boolean): void {
    this.#most = untouched ? fresh : 1
  }

  /** An answer showed nobody else. */
  grow(): void {
    this.#most = this.#most >= free ? never : this.#most * 2
  }

  /** Others were about and are gone. */
  restart(): void {
    this.#most = 2
  }

  isFull(inFlight: number): boolean {
    return inFlight >= this.#most
  }
}
