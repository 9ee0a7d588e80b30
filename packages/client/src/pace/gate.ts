import type { Flight } from './pace.js'
import { patienceMs } from './patience.js'

/** How a gate behaves; the same for all gates of a partition. */
export interface GateOptions {
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number
  /** No stated wait is believed for longer than this. */
  readonly maxBlockMs: number
}

const silentFirstMs = 1000
const zeroFirstMs = 250
const growthCapMs = 30_000
/** How long refusals in a row are remembered after the last one's wait. */
const rememberedMs = 60_000

/**
 * Closed after a refusal for as long as the server asked; then half open, one call at a time, until one is
 * accepted. Calls that were on their way when it closed neither count as a further refusal nor open it.
 *
 * A refusal that names no time closes it for 1 s, 2 s, 4 s … up to 30 s, a named time of zero for 250 ms, 500 ms …
 * up to the same, of which half is certain and half is chance: every gap is longer than the one before, so no
 * server, however it answers, is asked in a tight loop, and clients that were refused together come back apart.
 */
export class Gate {
  #options: GateOptions
  #untilMs: number = Number.NEGATIVE_INFINITY
  /** When the longest stated wait ends, however much of it is believed, and when it was stated. */
  #toldUntilMs: number = Number.NEGATIVE_INFINITY
  #toldAtMs = 0
  #closedAtMs: number = Number.NEGATIVE_INFINITY
  #halfOpen = false
  #refusals = 0
  #probedAtMs: number = Number.NEGATIVE_INFINITY
  readonly #probes = new Set<Flight>()

  constructor(options: GateOptions) {
    this.#options = options
  }

  /**
   * When a call may pass: after the wait, and while another call is finding out, only when that takes too long.
   *
   * @param believeMs for how long this call believes a stated wait, if for longer than all do
   */
  nextMs(nowMs: number, believeMs = 0): number {
    const untilMs = Math.max(this.#untilMs, Math.min(this.#toldUntilMs, this.#toldAtMs + believeMs))
    if (nowMs < untilMs) return untilMs
    return this.#halfOpen && this.#probes.size > 0 ? Math.max(nowMs, this.#probedAtMs + patienceMs) : nowMs
  }

  sent(flight: Flight): void {
    if (!this.#halfOpen) return
    this.#probes.add(flight)
    this.#probedAtMs = flight.sentAtMs
  }

  /** The call came to nothing: no answer arrived. */
  lost(flight: Flight): void {
    this.#probes.delete(flight)
  }

  accepted(flight: Flight): void {
    this.#probes.delete(flight)
    if (flight.sentAtMs < this.#closedAtMs || flight.sentAtMs < this.#untilMs) return
    this.#halfOpen = false
    this.#toldUntilMs = Number.NEGATIVE_INFINITY
    this.#refusals = 0
  }

  /** @param waitMs how long the server asked to be left alone, if it said so */
  refused(flight: Flight, nowMs: number, waitMs: number | undefined): void {
    this.#probes.delete(flight)
    if (this.#refusals === 0 || flight.sentAtMs >= this.#closedAtMs) {
      this.#refusals += 1
      this.#closedAtMs = nowMs
    }
    const wait = Math.min(this.#options.maxBlockMs, Math.max(waitMs ?? 0, this.#growingMs(waitMs)))
    this.#untilMs = Math.max(this.#untilMs, nowMs + wait)
    this.#toldUntilMs = Math.max(this.#toldUntilMs, nowMs + (waitMs ?? 0))
    this.#toldAtMs = nowMs
    this.#halfOpen = true
  }

  /** Forgetting this gate would let nothing through that it would not: one call asks first either way. */
  isForgettable(nowMs: number): boolean {
    return nowMs >= this.#untilMs + (this.#halfOpen ? rememberedMs : 0) && this.#probes.size === 0
  }

  #growingMs(waitMs: number | undefined): number {
    if (waitMs !== undefined && waitMs >= 1) return 0
    const first = waitMs === undefined ? silentFirstMs : zeroFirstMs
    const full = Math.min(growthCapMs, first * 2 ** Math.min(this.#refusals - 1, 30))
    return (full / 2) * (1 + this.#options.random())
  }
}
