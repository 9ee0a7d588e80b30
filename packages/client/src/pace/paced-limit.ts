import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import { Burst } from './burst.js'
import type { Gate } from './gate.js'
import { Guess } from './guess.js'
import { bounds, Level, needed } from './level.js'
import type { Limit, Reading, Surroundings } from './limit.js'
import { type OwnCall, OwnCalls } from './own-calls.js'
import type { Flight, KnownLimit } from './pace.js'
import { patientMs } from './patience.js'
import { type Quota, quotaOf, unstated } from './quota.js'
import { type Evidence, givenBackEarly } from './votes.js'
import { WindowEdge } from './window-edge.js'

const never = Number.POSITIVE_INFINITY
const tiny = 1e-6
/** `r` is rounded down: almost a whole unit more may be there. */
const unstatedPart = 0.999

/** A limit counted in requests, paced by a model of its level that answers keep correcting. */
export class PacedLimit implements Limit {
  readonly kind = 'paced'
  readonly policy: string
  readonly partitionKey: Uint8Array | undefined
  readonly gate: Gate
  readonly #around: Surroundings
  readonly #own = new OwnCalls()
  readonly #flying = new Map<Flight, OwnCall>()
  readonly #guess = new Guess()
  readonly #burst = new Burst()
  readonly #level: Level
  readonly #edge: WindowEdge
  #quota: Quota = unstated
  #newest: { atMs: number; available: number } | undefined
  #lastSendMs: number
  #usedBefore = false
  #heard = false
  /** Answers in a row that left nothing and said nothing of when. */
  #silent = 0

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
    this.#level = new Level(0, nowMs)
    this.#edge = new WindowEdge(nowMs)
    this.#lastSendMs = nowMs
  }

  /** Takes what a policy promises. Before the first answer the quota counts as untouched. */
  state(policy: QuotaPolicy): void {
    this.#quota = quotaOf(policy)
    if (this.#quota.ratePerMs > 0) this.#guess.told(this.#quota.refill)
    const most = this.#quota.units
    const untouched = !this.#heard && !this.#usedBefore
    this.#level.units = untouched ? most : Math.min(this.#level.units, most)
  }

  nextMs(nowMs: number, cost: number, queued: number): number {
    this.#roll(nowMs)
    const atMs = Math.max(nowMs, this.#levelMs(nowMs, cost, queued))
    if (!this.#burst.isFull(this.#flying.size)) return atMs
    return Math.max(atMs, patientMs(this.#lastSendMs, true, 0))
  }

  sent(flight: Flight, late = false): void {
    if (!late) {
      this.#roll(flight.sentAtMs)
      if (this.#edge.mayAsk) this.#level.units = Math.max(this.#level.units, flight.cost)
      else if (this.#hasPaused(flight.sentAtMs)) this.#guess.paused(flight)
      this.#edge.asked()
      this.#usedBefore = true
    }
    this.#level.spend(flight.cost, flight.sentAtMs, this.#lateMs())
    this.#lastSendMs = Math.max(this.#lastSendMs, flight.sentAtMs)
    this.#flying.set(flight, this.#own.book(flight.sentAtMs, flight.cost))
    this.gate.sent(flight)
  }

  answered(flight: Flight, nowMs: number, reading: Reading): void {
    const call = this.#flying.get(flight)
    if (call === undefined) return
    this.#flying.delete(flight)
    this.#roll(nowMs)
    const { limit, refused } = reading
    const { leastMs, jitterMs } = this.#around.roundTrip
    const units = refused ? 0 : (limit?.cost ?? call.units)
    this.#level.units += call.units - units
    call.units = units
    const latestMs = nowMs - leastMs
    this.#own.settled(call, latestMs, latestMs + this.#quota.windowMs + Math.max(2, jitterMs))
    if (limit !== undefined) this.#learn(flight, call, nowMs, limit, reading)
    this.#tidy(nowMs)
  }

  lost(flight: Flight, nowMs: number): void {
    const call = this.#flying.get(flight)
    if (call === undefined) return
    this.#flying.delete(flight)
    this.gate.lost(flight)
    this.#own.settled(call, nowMs, nowMs + this.#quota.windowMs)
    this.#tidy(nowMs)
  }

  known(nowMs: number): KnownLimit {
    const waitMs = Math.max(this.gate.nextMs(nowMs), this.nextMs(nowMs, 1, 1)) - nowMs
    const { units, windowMs } = this.#quota
    return {
      policy: this.policy,
      ...(this.partitionKey === undefined ? {} : { partitionKey: this.partitionKey }),
      unit: 'requests',
      ...(units < never ? { quota: units } : {}),
      ...(windowMs < never ? { windowSeconds: windowMs / 1000 } : {}),
      available: Math.max(0, Math.floor(this.#level.units + tiny)),
      waitSeconds: waitMs / 1000,
    }
  }

  isFresh(nowMs: number): boolean {
    return this.#flying.size === 0 && this.gate.isForgettable(nowMs) && this.nextMs(nowMs, 1, 1) <= nowMs
  }

  /** When level, pause and late quarter let a call go. */
  #levelMs(nowMs: number, cost: number, queued: number): number {
    if (cost === 0 || (this.#edge.mayAsk && this.#flying.size === 0)) return nowMs
    const { units } = this.#level
    const { jitterMs } = this.#around.roundTrip
    const bucket = this.#guess.mode === 'bucket'
    const need = bucket
      ? needed(cost, units, this.#quota, queued, jitterMs)
      : Math.min(cost, this.#quota.units)
    const missing = need - units
    if (missing > tiny) {
      const edgeMs = Math.min(this.#edge.endMs, this.#own.nextReturnMs)
      return this.#believedMs(nowMs, bucket ? nowMs + missing / this.#quota.ratePerMs : edgeMs)
    }
    if (queued > units && this.#heard) {
      const pause = this.#guess.pauseMs(units, this.#quota, jitterMs)
      if (pause > 0) return this.#lastSendMs + pause
    }
    if (this.#guess.mode !== 'window') return nowMs
    return this.#edge.keptUntilMs(units, queued, this.#quota.units, this.#quota.windowMs)
  }

  #hasPaused(nowMs: number): boolean {
    const pause = this.#guess.pauseMs(this.#level.units, this.#quota, this.#around.roundTrip.jitterMs)
    return this.#heard && pause > 0 && nowMs >= this.#lastSendMs + pause - tiny
  }

  /** No wait is believed beyond the cap, and none lasts for ever: then one call asks. */
  #believedMs(nowMs: number, atMs: number): number {
    const patience = patientMs(this.#lastSendMs, this.#flying.size > 0, this.#silent)
    const believed = atMs === never ? patience : Math.min(atMs, this.#lastSendMs + this.#around.maxBlockMs)
    return Math.max(nowMs, believed)
  }

  /** How late a call may land on a bucket; at most half its window, lest a small fast one hardly be used. */
  #lateMs(): number {
    if (this.#guess.mode !== 'bucket') return 0
    return Math.min(2 * this.#around.roundTrip.jitterMs, this.#quota.units / this.#quota.ratePerMs / 2)
  }

  #roll(nowMs: number): void {
    const bucket = this.#guess.mode === 'bucket'
    this.#level.advance(nowMs, this.#quota.units, bucket ? this.#quota.ratePerMs : 0)
    if (bucket) return
    this.#level.units = Math.min(this.#quota.units, this.#level.units + this.#own.creditDue(nowMs))
    const { leastMs, jitterMs } = this.#around.roundTrip
    // A quarter of a round trip: what returns were reckoned with while few round trips were known.
    const tolerance = 4 * jitterMs + leastMs / 4 + 10
    this.#edge.advance(nowMs, this.#flying.size === 0, this.#own.nextReturnMs, tolerance)
  }

  #learn(flight: Flight, call: OwnCall, nowMs: number, limit: ServiceLimit, reading: Reading): void {
    const available = Math.min(limit.available, this.#quota.units)
    const first = !this.#heard
    if (first) this.#meet(call, nowMs, available)
    const { leastMs, jitterMs } = this.#around.roundTrip
    const { atMs } = call
    if (this.#newest !== undefined && atMs < this.#newest.atMs - 2 * jitterMs) return
    const evidence = this.#evidence(call, nowMs, available, limit.effectiveWindowSeconds)
    call.available = available
    this.#guess.weigh(flight, evidence, this.#quota, reading.refusedHere && this.#explained(evidence))
    if (this.#guess.mode !== 'bucket' && givenBackEarly(evidence, this.#quota)) this.#startAfresh(evidence)
    const foreign = this.#correct(call, nowMs, available)
    const bucket = this.#guess.mode === 'bucket'
    if (reading.refusedHere && available === 0) {
      this.#level.units = Math.min(this.#level.units, bucket ? 0.5 : 0)
    }
    if (!first && !reading.refused && foreign < 1) this.#burst.grow()
    if (this.#newest === undefined || atMs > this.#newest.atMs) this.#newest = { atMs, available }
    else if (atMs === this.#newest.atMs) this.#newest.available = Math.min(available, this.#newest.available)
    const stated = limit.effectiveWindowMs ?? (limit.effectiveWindowSeconds ?? 0) * 1000
    const waitMs = stated > 0 ? stated : this.#quota.windowMs
    this.#silent = available > 0 || waitMs < never ? 0 : Math.min(30, this.#silent + 1)
    if (available === 0) this.#edge.stated(nowMs - leastMs + waitMs + 1, nowMs)
  }

  #meet(call: OwnCall, nowMs: number, available: number): void {
    this.#heard = true
    if (!this.#usedBefore) this.#burst.begin(available >= this.#quota.units - 1)
    this.#edge.begin(nowMs)
    this.#level.units = available - this.#own.sentBetween(Number.NEGATIVE_INFINITY, never, call)
  }

  #evidence(call: OwnCall, nowMs: number, available: number, seconds: number | undefined): Evidence {
    const { leastMs, jitterMs } = this.#around.roundTrip
    const early = call.atMs - 2 * jitterMs
    const previous = this.#newest
    return {
      atMs: call.atMs,
      available,
      ...(seconds === undefined ? {} : { effectiveWindowSeconds: seconds }),
      taken: call.units,
      ...(previous === undefined ? {} : { previous }),
      sentBetween: previous === undefined ? 0 : this.#own.sentBetween(previous.atMs, early, call),
      outstanding: this.#own.outstanding(nowMs - leastMs - this.#quota.windowMs, early),
      maybe: this.#own.sentBetween(early, call.atMs + 2 * jitterMs, call),
      endMs: this.#edge.endMs,
      jitterMs,
    }
  }

  /** Own calls account for all that is used. */
  #explained(evidence: Evidence): boolean {
    const { atMs, jitterMs } = evidence
    const mine = this.#own.used(atMs - this.#quota.windowMs, atMs + 2 * jitterMs)
    return this.#quota.units - evidence.available - mine < 1
  }

  /** What came back early came back with its whole window: own calls of before return no more. */
  #startAfresh(evidence: Evidence): void {
    this.#level.units -= this.#own.creditedSince(evidence.atMs)
    this.#own.startAfresh(evidence.atMs - 2 * evidence.jitterMs)
    this.#edge.begin(evidence.atMs)
  }

  /** Brings the level within what the answer leaves possible; returns the units that others must have used. */
  #correct(call: OwnCall, nowMs: number, available: number): number {
    const { leastMs, jitterMs } = this.#around.roundTrip
    const { windowMs, units, ratePerMs } = this.#quota
    const bucket = this.#guess.mode === 'bucket'
    const { atMs } = call
    const latestMs = nowMs - leastMs
    const { most, least } = bounds(
      {
        available,
        returnedAtMost: bucket ? ratePerMs * (nowMs - atMs) : this.#own.creditedSince(atMs),
        returnedAtLeast: bucket
          ? ratePerMs * (leastMs - 2 * jitterMs)
          : this.#own.creditedAfter(latestMs, windowMs),
        after: this.#own.sentBetween(atMs + 2 * jitterMs, never, call),
        perhapsLater: this.#own.perhapsLater(atMs - 2 * jitterMs, available, call),
        unstated: bucket ? unstatedPart + ratePerMs * jitterMs : 0,
      },
      units,
    )
    const foreign = this.#level.units - most
    if (foreign < 0 && this.#level.units < least) {
      if (!bucket) this.#own.returned(least - this.#level.units, latestMs - windowMs + 2 * jitterMs)
      this.#level.units = least
    }
    if (foreign > 0) this.#level.units = most
    return foreign
  }

  #tidy(nowMs: number): void {
    const { jitterMs } = this.#around.roundTrip
    const horizonMs = (this.#newest?.atMs ?? Number.NEGATIVE_INFINITY) - 4 * jitterMs
    this.#own.tidy(horizonMs, nowMs - 1.1 * this.#quota.windowMs - 1000, 4 * jitterMs, this.#quota)
  }
}
