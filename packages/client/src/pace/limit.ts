import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import type { Gate, GateOptions } from './gate.js'
import type { Named } from './limit-key.js'
import type { Flight, KnownLimit } from './pace.js'
import { never, type Quota, quotaOf, unstated } from './quota.js'
import type { Refusal } from './refusing.js'
import type { RoundTrip } from './round-trip.js'
import { statedMs } from './stated.js'

/** What the limits of one partition share. */
export interface Surroundings extends GateOptions {
  readonly roundTrip: RoundTrip
}

/** What an answer said about one limit, and how the call fared with it. */
export interface Reading {
  /** Absent where the answer states the policy alone, or nothing of this limit. */
  readonly limit: ServiceLimit | undefined
  /** The call was refused, by whichever limit. */
  readonly refused: boolean
  /** This limit is among those that refused it. */
  readonly refusal: Refusal | undefined
}

/** Servers may state a limit now and then only: no shorter silence means anything, however short the window. */
const leastSilenceMs = 60_000

/** `paced` counts requests, `slots` counts calls in progress, `signal` counts what a client cannot: it only stops. */
export type LimitKind = 'paced' | 'slots' | 'signal'

/** Which limit it is, and what it shares with others. */
export interface LimitParts {
  readonly named: Named
  /** Closed after refusals of this limit. */
  readonly gate: Gate
  readonly around: Surroundings
  readonly nowMs: number
}

/** One limit that calls are held by. A call may go when every limit of its route, and every gate, lets it. */
export abstract class Limit<Booked = unknown> {
  abstract readonly kind: LimitKind
  readonly parts: LimitParts
  protected quota: Quota = unstated
  protected unit = 'requests'
  protected readonly flying: Map<Flight, Booked> = new Map()
  /** Until when the newest answer says that no more comes. */
  #statedUntilMs = 0
  /** An accepted answer has stated it. One that refusals alone state is missing nowhere. */
  #usual = false
  /** When the first answer came that might have stated it and did not, since the last that did. */
  #silentSinceMs: number | undefined

  constructor(parts: LimitParts) {
    this.parts = parts
  }

  get gate(): Gate {
    return this.parts.gate
  }

  /** When a call of this cost may go: at or before now, later, or Infinity while only an answer can tell. */
  abstract nextMs(nowMs: number, cost: number, queued: number, believeMs?: number, answerMs?: number): number

  /** Takes what a policy promises, before an answer that states it is counted. */
  state(policy: QuotaPolicy): void {
    this.unit = policy.unit
    this.quota = quotaOf(policy)
  }

  /** Books a call that goes now, or, if `late`, one that was on its way before this limit was known. */
  sent(flight: Flight, late?: boolean): void {
    this.flying.set(flight, this.book(flight, late === true))
    this.gate.sent(flight)
  }

  /** The answer of a booked call, and what it says of this limit. */
  answered(flight: Flight, nowMs: number, reading: Reading): void {
    this.#landed(flight, nowMs, reading)
    const { refused, refusal, limit } = reading
    if (limit !== undefined) this.#statedUntilMs = nowMs + statedMs(limit)
    if (!refused) this.gate.accepted(flight, nowMs)
    else if (refusal === undefined) this.gate.lost(flight)
    else {
      const { waitMs, overrides } = refusal
      this.gate.refused(flight, nowMs, waitMs, overrides, this.spreadMs(waitMs ?? 0))
    }
  }

  /** An answer speaks of it. */
  stated(refused: boolean): void {
    if (!refused) this.#usual = true
    this.#silentSinceMs = undefined
  }

  /** An answer is silent about it. @returns whether all are, and for so long, that it is stated no more */
  isGone(nowMs: number): boolean {
    if (!this.#usual) return false
    this.#silentSinceMs ??= nowMs
    const { windowMs } = this.quota
    const toldMs = Math.min(this.#statedUntilMs - this.#silentSinceMs, this.parts.around.maxBlockMs)
    const longMs = Math.max(leastSilenceMs, windowMs < never ? windowMs : toldMs)
    return nowMs - this.#silentSinceMs > longMs && this.gate.isForgettable(nowMs)
  }

  lost(flight: Flight, nowMs: number): void {
    this.gate.lost(flight)
    this.#landed(flight, nowMs)
  }

  #landed(flight: Flight, nowMs: number, reading?: Reading): void {
    const booked = this.flying.get(flight)
    if (booked !== undefined && this.flying.delete(flight)) this.settle(flight, booked, nowMs, reading)
  }

  /** The body of a call's answer is on its way, which counts until then where calls in progress are counted. */
  keep(_flight: Flight, _untilMs: number): void {}

  /** Over how long those who are refused together shall spread their return, after a wait of that length. */
  spreadMs(_waitMs: number): number {
    return 0
  }

  /** What is known of it, for people to look at. */
  known(nowMs: number): KnownLimit {
    const { policy, partitionKey } = this.parts.named
    const { units, windowMs, ratePerMs } = this.quota
    const waitMs = Math.max(this.gate.nextMs(nowMs, 0, never), this.nextMs(nowMs, 1, 1, 0, never)) - nowMs
    return {
      policy,
      ...(partitionKey && { partitionKey }),
      unit: this.unit,
      ...(units < never && { quota: units }),
      ...(windowMs < never && { windowSeconds: windowMs / 1000 }),
      ...(ratePerMs > 0 && ratePerMs !== units / windowMs && { ratePerSecond: ratePerMs * 1000 }),
      available: this.available(),
      waitSeconds: waitMs / 1000,
      ...(this.#statedUntilMs > nowMs && { effectiveWindowSeconds: (this.#statedUntilMs - nowMs) / 1000 }),
    }
  }

  /** Forgetting this limit would change nothing that matters. */
  isFresh(nowMs: number): boolean {
    return this.flying.size === 0 && this.gate.isForgettable(nowMs) && this.nextMs(nowMs, 1, 1) <= nowMs
  }

  protected abstract available(): number
  protected abstract book(flight: Flight, late: boolean): Booked
  protected abstract settle(flight: Flight, booked: Booked, nowMs: number, reading?: Reading): void
}
