import type { QuotaPolicy } from '@ratepact/contract'
import type { Gate } from './gate.js'
import type { Limit, Reading, Surroundings } from './limit.js'
import type { Flight, KnownLimit } from './pace.js'
import { patienceMs } from './patience.js'
import { type Quota, quotaOf, unstated } from './quota.js'

const firstPauseMs = 1000
const pauseCapMs = 60_000

/**
 * A limit in units that a client cannot count before it sends (bytes, tokens, unknown ones), or with a quota of
 * 0: nothing left means stop, anything else means nothing. After the stated wait, or a growing pause with full
 * jitter where none is stated, one call asks again.
 */
export class SignalLimit implements Limit {
  readonly kind = 'signal'
  readonly policy: string
  readonly partitionKey: Uint8Array | undefined
  readonly gate: Gate
  readonly #around: Surroundings
  readonly #flying = new Set<Flight>()
  #unit = 'requests'
  #quota: Quota = unstated
  #available: number = Number.POSITIVE_INFINITY
  #untilMs: number = Number.NEGATIVE_INFINITY
  /** When the stated wait ends, however much of it is believed, and when it was stated. */
  #toldUntilMs: number = Number.NEGATIVE_INFINITY
  #toldAtMs = 0
  #newestAtMs: number = Number.NEGATIVE_INFINITY
  #askedAtMs: number = Number.NEGATIVE_INFINITY
  #silent = 0

  constructor(policy: string, partitionKey: Uint8Array | undefined, gate: Gate, around: Surroundings) {
    this.policy = policy
    this.partitionKey = partitionKey
    this.gate = gate
    this.#around = around
  }

  state(policy: QuotaPolicy): void {
    this.#unit = policy.unit
    this.#quota = quotaOf(policy)
  }

  nextMs(nowMs: number, _cost = 1, _queued = 1, believeMs = 0): number {
    if (this.#available > 0 || this.gate.overrides) return nowMs
    const untilMs = Math.max(this.#untilMs, Math.min(this.#toldUntilMs, this.#toldAtMs + believeMs))
    if (nowMs < untilMs) return untilMs
    const asking = this.#askedAtMs >= this.#untilMs && this.#flying.size > 0
    return asking ? Math.max(nowMs, this.#askedAtMs + patienceMs) : nowMs
  }

  sent(flight: Flight): void {
    this.#flying.add(flight)
    this.#askedAtMs = Math.max(this.#askedAtMs, flight.sentAtMs)
    this.gate.sent(flight)
  }

  answered(flight: Flight, nowMs: number, reading: Reading): void {
    this.#flying.delete(flight)
    const { limit } = reading
    if (limit === undefined || flight.sentAtMs < this.#newestAtMs) return
    this.#newestAtMs = flight.sentAtMs
    this.#available = limit.available
    if (limit.available > 0) {
      this.#silent = 0
      return
    }
    const stated = limit.effectiveWindowMs ?? (limit.effectiveWindowSeconds ?? 0) * 1000
    this.#toldUntilMs = nowMs + stated
    this.#toldAtMs = nowMs
    this.#untilMs = nowMs + Math.min(this.#around.maxBlockMs, stated > 0 ? stated : this.#pauseMs())
  }

  lost(flight: Flight): void {
    this.#flying.delete(flight)
    this.gate.lost(flight)
  }

  known(nowMs: number): KnownLimit {
    const { units, windowMs } = this.#quota
    const waitMs = Math.max(this.gate.nextMs(nowMs), this.nextMs(nowMs)) - nowMs
    return {
      policy: this.policy,
      ...(this.partitionKey === undefined ? {} : { partitionKey: this.partitionKey }),
      unit: this.#unit,
      ...(units < Number.POSITIVE_INFINITY ? { quota: units } : {}),
      ...(windowMs < Number.POSITIVE_INFINITY ? { windowSeconds: windowMs / 1000 } : {}),
      available: Math.min(this.#available, units),
      waitSeconds: waitMs / 1000,
    }
  }

  isFresh(nowMs: number): boolean {
    if (this.#flying.size > 0 || !this.gate.isForgettable(nowMs)) return false
    return this.#available > 0 || nowMs >= this.#untilMs
  }

  #pauseMs(): number {
    const full = Math.min(pauseCapMs, firstPauseMs * 2 ** this.#silent)
    this.#silent = Math.min(30, this.#silent + 1)
    return full * this.#around.random()
  }
}
