const remembered = 32
const jitterBeforeKnownMs = 10

/**
 * What the round trips of one partition have shown. Instants are compared in the frame of sends: an event on
 * the server counts as having happened one least one-way delay earlier. A call's event then lies between its
 * send and its arrival less `leastMs`, even on a server that holds a request before it answers.
 */
export class RoundTrip {
  /** The shortest round trip so far; 0 while none is known. */
  leastMs = 0
  /** How far an event may lie from where its send puts it, one way. */
  jitterMs: number = jitterBeforeKnownMs
  readonly #latest: number[] = []
  #count = 0

  note(roundTripMs: number): void {
    if (!(roundTripMs >= 0)) return
    this.leastMs = this.#count === 0 ? roundTripMs : Math.min(this.leastMs, roundTripMs)
    this.#latest[this.#count % remembered] = roundTripMs
    this.#count += 1
    if (this.#count < 3) return
    const sorted = [...this.#latest].sort((a, b) => a - b)
    const high = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? this.leastMs
    this.jitterMs = Math.min(this.leastMs, high - this.leastMs) / 2
  }
}
