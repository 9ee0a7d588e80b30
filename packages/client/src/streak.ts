import { never } from './pace/quota.js'

/**
 * How many refusals in a row a partition has met. Calls sent together and refused together count once:
 * they are one piece of news, and only a refusal after a wait means that the wait was too short.
 */
export class Streak {
  #count = 0
  #sinceMs: number = -never

  /** @returns the refusals in a row, this one included */
  refused(sentAtMs: number, nowMs: number): number {
    if (this.#count === 0 || sentAtMs >= this.#sinceMs) {
      this.#count += 1
      this.#sinceMs = nowMs
    }
    return this.#count
  }

  accepted(sentAtMs: number): void {
    if (sentAtMs >= this.#sinceMs) this.#count = 0
  }
}
