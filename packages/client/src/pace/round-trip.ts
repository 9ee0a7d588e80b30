import { never } from './quota.js'

const remembered = 32
const leastJitterGuessMs = 10
/** So few round trips may all have been alike by chance. */
const few = 8

/**
 * What the round trips of one partition have shown. Instants are compared in the frame of sends: an event on
 * the server counts as having happened one least one-way delay earlier. A call's event then lies between its
 * send and its arrival less `leastMs`, even on a server that holds a request before it answers.
 */
export class RoundTrip {
  /** The shortest round trip so far; 0 while none is known. */
  leastMs = 0
  /** How far an event may lie from where its send puts it, one way. */
  jitterMs: number = leastJitterGuessMs
  /** The longest of the latest round trips; Infinity while few are known. */
  mostMs: number = never
  readonly #latest: number[] = []
  /** The same by length. */
  readonly #sorted: number[] = []
  #count = 0

  note(roundTripMs: number): void {
    if (!(roundTripMs >= 0)) return
    this.leastMs = this.#count === 0 ? roundTripMs : Math.min(this.leastMs, roundTripMs)
    const sorted = this.#sorted
    const oldest = this.#latest[this.#count % remembered]
    if (oldest !== undefined) sorted.splice(sorted.indexOf(oldest), 1)
    const longer = sorted.findIndex((each) => each > roundTripMs)
    sorted.splice(longer < 0 ? sorted.length : longer, 0, roundTripMs)
    this.#latest[this.#count % remembered] = roundTripMs
    this.#count += 1
    const high = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? this.leastMs
    const seen = Math.min(this.leastMs, high - this.leastMs) / 2
    const guess = this.#count < few ? this.leastMs / 4 : 0
    if (this.#count >= few) this.mostMs = sorted[sorted.length - 1] ?? this.mostMs
    this.jitterMs = Math.max(seen, guess, this.#count < 3 ? leastJitterGuessMs : 0)
  }
}
