import type { QuotaPolicy } from '@ratepact/contract'
import { Burst } from './burst.js'
import type { Gate } from './gate.js'
import type { Limit, Reading, Surroundings } from './limit.js'
import { type Booking, Model } from './model.js'
import type { Flight, KnownLimit } from './pace.js'
import { patientMs } from './patience.js'
import { quotaOf } from './quota.js'

const never = Number.POSITIVE_INFINITY
const tiny = 1e-6

/** A limit counted in requests: calls go as its model finds enough for them. */
export class PacedLimit implements Limit {
  readonly kind = 'paced'
  readonly policy: string
  readonly partitionKey: Uint8Array | undefined
  readonly gate: Gate
  readonly #around: Surroundings
  readonly #model: Model
  readonly #burst = new Burst()
  readonly #flying = new Map<Flight, Booking>()
  #lastSendMs: number
  /** A call went before any answer stated the limit: it was known beforehand. */
  #usedUnheard = false

  constructor(
    policy: string,
    partitionKey: Uint8Array | undefined,
    gate: Gate,
    around: Surroundings,
    nowMs: number,
  ) {
    this.policy = policy
    this.partitionKey = partitionKey
    this.gate = gate
    this.#around = around
    this.#model = new Model(around.roundTrip, nowMs)
    this.#lastSendMs = nowMs
  }

  state(policy: QuotaPolicy): void {
    this.#model.promise(quotaOf(policy))
  }

  nextMs(nowMs: number, cost: number, queued: number, believeMs = 0): number {
    if (cost === 0 || this.gate.overrides) return nowMs
    const idle = this.#flying.size === 0
    this.#model.advance(nowMs, idle)
    const asking = { nowMs, cost, queued, lastSendMs: this.#lastSendMs }
    const enoughMs = this.#model.enoughMs(asking, idle)
    if (enoughMs > nowMs) return Math.max(nowMs, this.#believedMs(enoughMs, believeMs))
    const heldBackMs = Math.max(nowMs, this.#model.heldBackMs(asking))
    if (!this.#burst.isFull(this.#flying.size)) return heldBackMs
    return Math.max(heldBackMs, patientMs(this.#lastSendMs, true, 0))
  }

  sent(flight: Flight, late = false): void {
    const { sentAtMs, cost } = flight
    if (late) this.#flying.set(flight, this.#model.adopt(sentAtMs, cost))
    else {
      this.#model.advance(sentAtMs, this.#flying.size === 0)
      if (this.gate.overrides) this.#model.ask()
      this.#flying.set(flight, this.#model.spend(sentAtMs, cost, this.#lastSendMs))
      this.#usedUnheard ||= !this.#model.heard
    }
    if (cost > 0) this.#lastSendMs = Math.max(this.#lastSendMs, sentAtMs)
    this.gate.sent(flight)
  }

  answered(flight: Flight, nowMs: number, reading: Reading): void {
    const booking = this.#flying.get(flight)
    if (booking === undefined) return
    this.#flying.delete(flight)
    const { limit, refused, refusedHere } = reading
    this.#model.advance(nowMs, this.#flying.size === 0)
    this.#model.settle(booking, nowMs, refused ? 0 : (limit?.cost ?? flight.cost))
    if (limit !== undefined) {
      const first = !this.#model.heard
      const foreign = this.#model.learn(booking.call, nowMs, limit, refusedHere)
      if (!first && !refused && foreign < 1) this.#burst.grow()
      if (first && !this.#usedUnheard) this.#burst.begin(limit.available >= this.#model.quota.units - 1)
    }
    this.#model.tidy(nowMs)
  }

  lost(flight: Flight, nowMs: number): void {
    const booking = this.#flying.get(flight)
    if (booking === undefined) return
    this.#flying.delete(flight)
    this.gate.lost(flight)
    this.#model.settleUnanswered(booking, nowMs)
    this.#model.tidy(nowMs)
  }

  known(nowMs: number): KnownLimit {
    const waitMs = Math.max(this.gate.nextMs(nowMs), this.nextMs(nowMs, 1, 1)) - nowMs
    const { units, windowMs, ratePerMs } = this.#model.quota
    const stated = ratePerMs > 0 && ratePerMs !== units / windowMs
    return {
      policy: this.policy,
      ...(this.partitionKey === undefined ? {} : { partitionKey: this.partitionKey }),
      unit: 'requests',
      ...(units < never ? { quota: units } : {}),
      ...(windowMs < never ? { windowSeconds: windowMs / 1000 } : {}),
      ...(stated ? { ratePerSecond: ratePerMs * 1000 } : {}),
      available: Math.max(0, Math.floor(this.#model.units + tiny)),
      waitSeconds: waitMs / 1000,
    }
  }

  isFresh(nowMs: number): boolean {
    return this.#flying.size === 0 && this.gate.isForgettable(nowMs) && this.nextMs(nowMs, 1, 1) <= nowMs
  }

  /** No wait is believed beyond the cap, and none lasts for ever: then one call asks. */
  #believedMs(enoughMs: number, believeMs: number): number {
    const longestMs = Math.max(this.#around.maxBlockMs, believeMs)
    if (enoughMs < never) return Math.min(enoughMs, this.#lastSendMs + longestMs)
    return patientMs(this.#lastSendMs, this.#flying.size > 0, this.#model.silent)
  }
}
