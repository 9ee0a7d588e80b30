import type { QuotaPolicy } from '@ratepact/contract'
import type { Gate } from './gate.js'
import type { Limit, Reading } from './limit.js'
import type { Flight, KnownLimit } from './pace.js'

/**
 * A limit on calls in progress (`concurrent-requests`): `r` is the free slots when the answered call was admitted.
 * The call itself and those of ours that were under way when it was sent held a slot each; so that many and the
 * free ones may be ours together.
 */
export class SlotsLimit implements Limit {
  readonly kind = 'slots'
  readonly policy: string
  readonly partitionKey: Uint8Array | undefined
  readonly gate: Gate
  readonly #flying = new Map<Flight, number>()
  #quota: number = Number.POSITIVE_INFINITY
  #allowed: number = Number.POSITIVE_INFINITY
  #newestAtMs: number = Number.NEGATIVE_INFINITY

  constructor(policy: string, partitionKey: Uint8Array | undefined, gate: Gate) {
    this.policy = policy
    this.partitionKey = partitionKey
    this.gate = gate
  }

  state(policy: QuotaPolicy): void {
    this.#quota = policy.quota >= 0 ? policy.quota : Number.POSITIVE_INFINITY
  }

  nextMs(nowMs: number): number {
    const most = Math.max(1, Math.min(this.#allowed, this.#quota))
    return this.#flying.size < most ? nowMs : Number.POSITIVE_INFINITY
  }

  sent(flight: Flight): void {
    this.#flying.set(flight, this.#flying.size)
    this.gate.sent(flight)
  }

  answered(flight: Flight, _nowMs: number, reading: Reading): void {
    const beside = this.#flying.get(flight) ?? 0
    this.#flying.delete(flight)
    if (reading.limit === undefined || flight.sentAtMs < this.#newestAtMs) return
    this.#newestAtMs = flight.sentAtMs
    this.#allowed = reading.limit.available + beside + (reading.refused ? 0 : 1)
  }

  lost(flight: Flight): void {
    this.#flying.delete(flight)
    this.gate.lost(flight)
  }

  known(nowMs: number): KnownLimit {
    const most = Math.min(this.#allowed, this.#quota)
    const wait = this.gate.nextMs(nowMs)
    return {
      policy: this.policy,
      ...(this.partitionKey === undefined ? {} : { partitionKey: this.partitionKey }),
      unit: 'concurrent-requests',
      ...(this.#quota < Number.POSITIVE_INFINITY ? { quota: this.#quota } : {}),
      available: Math.max(0, most - this.#flying.size),
      waitSeconds: Math.max(wait - nowMs, this.nextMs(nowMs) - nowMs) / 1000,
    }
  }

  isFresh(nowMs: number): boolean {
    return this.#flying.size === 0 && this.gate.isForgettable(nowMs)
  }
}
