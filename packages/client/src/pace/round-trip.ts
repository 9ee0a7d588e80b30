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
  /**
   * The shortest round trip so far of a call that found a connection; 0 while none is known: then its event may have
   * happened as late as its answer came, which makes the next call late once. What a connection takes to be made is
   * spent before the event; were it taken for the way back, the next call would be too early by as much.
   */
  leastMs = 0
  /** How far an event may lie from where its send puts it, one way. */
  jitterMs: number = leastJitterGuessMs
  /** The longest of the latest round trips; Infinity while few are known. */
  mostMs: number = never
  /** So many connections must be there: calls that found none have been answered. */
  connections = 0
  readonly #latest: number[] = []
  /** The same by length. */
  readonly #sorted: number[] = []
  #count = 0
  #shortestMs: number = never

  /** @param connected it was sent while fewer calls were in flight than there are connections */
  note(roundTripMs: number, connected: boolean): void {
    if (!(roundTripMs >= 0)) return
    if (!connected) this.connections += 1
    else if (this.leastMs === 0 && this.#count === 1)
      this.#latest.length = this.#sorted.length = this.#count = 0
    const shortestMs = Math.min(this.#shortestMs, roundTripMs)
    this.#shortestMs = shortestMs
    if (connected || this.leastMs > 0) this.leastMs = shortestMs
    const sorted = this.#sorted
    const oldest = this.#latest[this.#count % remembered]
    if (oldest !== undefined) sorted.splice(sorted.indexOf(oldest), 1)
    const longer = sorted.findIndex((each) => each > roundTripMs)
    sorted.splice(longer < 0 ? sorted.length : longer, 0, roundTripMs)
    this.#latest[this.#count % remembered] = roundTripMs
    this.#count += 1
    const high = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? shortestMs
    const seen = Math.min(shortestMs, high - shortestMs) / 2
    const guess = this.#count < few ? shortestMs / 4 : 0
    if (this.#count >= few) this.mostMs = sorted[sorted.length - 1] ?? this.mostMs
    this.jitterMs = Math.max(seen, guess, this.#count < 3 ? leastJitterGuessMs : 0)
  }
}
