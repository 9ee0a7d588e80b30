import type { Allowance } from './allowance.js'
import type { Flight } from './pace.js'
import { patienceMs } from './patience.js'
import { never } from './quota.js'

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
 *
 * Once one is accepted, an allowance lets the others follow gradually where nothing stated bounds them.
 */
export class Gate {
  readonly #options: GateOptions
  readonly #allowance: Allowance | undefined
  #untilMs: number = -never
  /** When the longest stated wait ends, however much of it is believed, and when it was stated. */
  #toldUntilMs: number = -never
  #toldAtMs = 0
  #closedAtMs: number = -never
  #halfOpen = false
  #timeStated = false
  #refusals = 0
  #probedAtMs: number = -never
  readonly #probes = new Set<Flight>()

  constructor(options: GateOptions, allowance?: Allowance) {
    this.#options = options
    this.#allowance = allowance
  }

  /** The server has said when to ask, and nobody is asking yet: whatever else it stated of its limit counts for nothing. */
  get overrides(): boolean {
    return this.#halfOpen && this.#timeStated && this.#probes.size === 0
  }

  /**
   * When a call may pass: after the wait, and while another call is finding out, only when that takes too long.
   *
   * @param believeMs for how long this call believes a stated wait, if for longer than all do
   * @param answerMs how long is too long
   */
  nextMs(nowMs: number, believeMs = 0, answerMs: number = patienceMs): number {
    const untilMs = Math.max(this.#untilMs, Math.min(this.#toldUntilMs, this.#toldAtMs + believeMs))
    if (nowMs < untilMs) return untilMs
    const freeMs = this.#allowance?.nextMs(nowMs, answerMs) ?? nowMs
    return this.#halfOpen && this.#probes.size > 0 ? Math.max(freeMs, this.#probedAtMs + answerMs) : freeMs
  }

  sent(flight: Flight): void {
    this.#allowance?.sent(flight)
    if (!this.#halfOpen) return
    this.#probes.add(flight)
    this.#probedAtMs = flight.sentAtMs
  }

  /** The call came to nothing: no answer arrived. */
  lost(flight: Flight): void {
    this.#probes.delete(flight)
    this.#allowance?.lost(flight)
  }

  accepted(flight: Flight, nowMs: number): void {
    this.#probes.delete(flight)
    this.#allowance?.accepted(flight, nowMs)
    if (flight.sentAtMs < this.#closedAtMs || flight.sentAtMs < this.#untilMs) return
    this.#halfOpen = false
    this.#toldUntilMs = -never
    this.#refusals = 0
  }

  /**
   * @param waitMs how long the server asked to be left alone, or stated that nothing comes, if it said so
   * @param spreadMs a random part of this is added, so that those who were refused together do not come back so
   * @param asked it asked so (`Retry-After`), which overrides what it states beside
   */
  refused(flight: Flight, nowMs: number, waitMs: number | undefined, asked = false, spreadMs = 0): void {
    this.#probes.delete(flight)
    if (this.#refusals === 0 || flight.sentAtMs >= this.#closedAtMs) {
      this.#refusals += 1
      this.#closedAtMs = nowMs
    }
    const spread = spreadMs > 0 ? spreadMs * this.#options.random() : 0
    const wait = Math.min(this.#options.maxBlockMs, spread + Math.max(waitMs ?? 0, this.#growingMs(waitMs)))
    this.#untilMs = Math.max(this.#untilMs, nowMs + wait)
    this.#toldUntilMs = Math.max(this.#toldUntilMs, nowMs + (waitMs ?? 0))
    this.#toldAtMs = nowMs
    this.#halfOpen = true
    this.#timeStated = asked
    this.#allowance?.refused(flight, nowMs, this.#untilMs)
  }

  /** Forgetting this gate would let nothing through that it would not: one call asks first either way. */
  isForgettable(nowMs: number): boolean {
    if (nowMs < this.#untilMs + (this.#halfOpen ? rememberedMs : 0) || this.#probes.size > 0) return false
    return this.#allowance?.isForgotten(nowMs) ?? true
  }

  #growingMs(waitMs: number | undefined): number {
    if (waitMs !== undefined && waitMs >= 1) return 0
    const first = waitMs === undefined ? silentFirstMs : zeroFirstMs
    const full = Math.min(growthCapMs, first * 2 ** Math.min(this.#refusals - 1, 30))
    return (full / 2) * (1 + this.#options.random())
  }
}
