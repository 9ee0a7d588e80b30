import type { QuotaPolicy } from '@ratepact/contract'
import type { Gate } from './gate.js'
import { bounds, Level, needed } from './level.js'
import type { Limit, Reading, Surroundings } from './limit.js'
import { type OwnCall, OwnCalls } from './own-calls.js'
import type { Flight, KnownLimit } from './pace.js'
import { type Quota, quotaOf, unstated } from './quota.js'
import { type Evidence, givenBackEarly, type Mode, Votes } from './votes.js'

const none = Number.POSITIVE_INFINITY
const tiny = 1e-6
/** `r` is rounded down: almost a whole unit more may be there. */
const unstatedPart = 0.999
const freeBurst = 64
const patienceMs = 5000
const firstProbeMs = 1000
const probeCapMs = 60_000
const lateQuarterMs = 1200
const lateQuarterFromMs = 5000
const testPause = 2.5

/** A limit counted in requests, paced by a model of its level that answers keep correcting. */
export class PacedLimit implements Limit {
  readonly kind = 'paced'
  readonly policy: string
  readonly partitionKey: Uint8Array | undefined
  readonly gate: Gate
  readonly #around: Surroundings
  readonly #own = new OwnCalls()
  readonly #flying = new Map<Flight, OwnCall>()
  readonly #votes = new Votes()
  #quota: Quota = unstated
  #mode: Mode = 'unknown'
  readonly #level: Level
  #newest: { atMs: number; available: number } | undefined
  #endMs = none
  #mayProbe = false
  #burst = 4
  #windowStartMs: number
  #lastSendMs: number
  #heard = false
  #silent = 0
  #testing: Flight | undefined

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
    this.#windowStartMs = nowMs
    this.#lastSendMs = nowMs
  }

  /** Takes what a policy promises. Before the first answer the quota counts as untouched. */
  state(policy: QuotaPolicy): void {
    const quota = quotaOf(policy)
    const { refill } = quota
    this.#quota = quota
    if (refill !== undefined && quota.ratePerMs > 0) {
      this.#mode = refill === 'bucket' || refill === 'counter' ? 'bucket' : 'window'
    }
    if (!this.#heard) this.#level.units = quota.units
    this.#level.units = Math.min(this.#level.units, quota.units)
  }

  nextMs(nowMs: number, cost: number, queued: number): number {
    this.#roll(nowMs)
    const atMs = Math.max(nowMs, this.#levelMs(nowMs, cost, queued))
    if (this.#flying.size >= this.#burst) return Math.max(atMs, this.#lastSendMs + patienceMs)
    return atMs
  }

  sent(flight: Flight): void {
    const late = flight.sentAtMs < this.#level.atMs
    if (!late) this.#roll(flight.sentAtMs)
    if (!late && !this.#mayProbe && this.#wantsTest()) this.#testing = flight
    if (this.#mayProbe) this.#level.units = Math.max(this.#level.units, flight.cost)
    this.#mayProbe = false
    this.#level.spend(flight.cost, flight.sentAtMs, this.#lateMs())
    this.#lastSendMs = Math.max(this.#lastSendMs, flight.sentAtMs)
    this.#flying.set(flight, this.#own.book(flight.sentAtMs, flight.cost))
    this.gate.sent(flight)
  }

  answered(flight: Flight, nowMs: number, reading: Reading): void {
    const call = this.#flying.get(flight) ?? this.#own.book(flight.sentAtMs, flight.cost)
    this.#flying.delete(flight)
    this.#roll(nowMs)
    const { leastMs, jitterMs } = this.#around.roundTrip
    if (reading.refused) {
      this.#level.units += call.units
      this.#own.refused(call)
    } else {
      this.#own.counted(call, nowMs - leastMs, nowMs - leastMs + this.#quota.windowMs + Math.max(2, jitterMs))
    }
    if (reading.limit !== undefined) this.#learn(flight, call, nowMs, reading)
    this.#tidy(nowMs)
  }

  lost(flight: Flight, nowMs: number): void {
    const call = this.#flying.get(flight)
    if (call === undefined) return
    this.#flying.delete(flight)
    this.gate.lost(flight)
    this.#own.counted(call, nowMs, nowMs + this.#quota.windowMs)
    this.#tidy(nowMs)
  }

  known(nowMs: number): KnownLimit {
    const waitMs = Math.max(this.gate.nextMs(nowMs), this.nextMs(nowMs, 1, 1)) - nowMs
    const { units, windowMs } = this.#quota
    return {
      policy: this.policy,
      ...(this.partitionKey === undefined ? {} : { partitionKey: this.partitionKey }),
      unit: 'requests',
      ...(units < none ? { quota: units } : {}),
      ...(windowMs < none ? { windowSeconds: windowMs / 1000 } : {}),
      available: Math.max(0, Math.floor(this.#level.units + tiny)),
      waitSeconds: waitMs / 1000,
    }
  }

  isFresh(nowMs: number): boolean {
    if (this.#flying.size > 0 || !this.gate.isOpen(nowMs)) return false
    this.#roll(nowMs)
    if (this.#level.units >= this.#quota.units - tiny) return true
    return this.#mode !== 'bucket' && this.#endMs === none && this.#own.nextReturnMs === none
  }

  /** When the level lets a call go, the mode test and the late quarter let it go too. */
  #levelMs(nowMs: number, cost: number, queued: number): number {
    if (this.#mayProbe && this.#flying.size === 0) return nowMs
    if (cost === 0) return nowMs
    const { roundTrip } = this.#around
    if (this.#mode === 'bucket') {
      const need = needed(cost, this.#level.units, this.#quota, queued, roundTrip.jitterMs)
      const missing = need - this.#level.units
      return missing <= tiny ? nowMs : this.#atLatest(nowMs, nowMs + missing / this.#quota.ratePerMs)
    }
    const need = Math.min(cost, this.#quota.units)
    if (this.#level.units + tiny < need)
      return this.#atLatest(nowMs, Math.min(this.#endMs, this.#own.nextReturnMs))
    if (this.#wantsTest())
      return this.#lastSendMs + testPause / this.#quota.ratePerMs + 2 * roundTrip.jitterMs
    return this.#keepsLateQuarter(queued) ? Math.min(this.#windowStartMs + lateQuarterMs, this.#endMs) : nowMs
  }

  /** How late a call may land on a bucket; at most half its window, lest a small fast one hardly be used. */
  #lateMs(): number {
    if (this.#mode !== 'bucket') return 0
    return Math.min(2 * this.#around.roundTrip.jitterMs, this.#quota.units / this.#quota.ratePerMs / 2)
  }

  /** While the mode is unknown the last units are spent only after a pause: does r rise in it? */
  #wantsTest(): boolean {
    const few = Math.max(1, Math.min(3, this.#quota.units / 4))
    return this.#mode === 'unknown' && this.#heard && this.#quota.ratePerMs > 0 && this.#level.units <= few
  }

  /** Alone on a window, a quarter stays until others have had time to notice that the window is new. */
  #keepsLateQuarter(queued: number): boolean {
    if (this.#mode !== 'window' || this.#quota.windowMs < lateQuarterFromMs) return false
    return queued > this.#level.units && this.#level.units < 1 + this.#quota.units / 4
  }

  /** No wait is believed beyond the cap, and none lasts for ever: then one call asks. */
  #atLatest(nowMs: number, atMs: number): number {
    const { maxBlockMs } = this.#around
    const patience =
      this.#flying.size > 0 ? patienceMs : Math.min(probeCapMs, firstProbeMs * 2 ** this.#silent)
    const believed =
      atMs === none ? this.#lastSendMs + patience : Math.min(atMs, this.#lastSendMs + maxBlockMs)
    return Math.max(nowMs, believed)
  }

  #roll(nowMs: number): void {
    const bucket = this.#mode === 'bucket'
    this.#level.advance(nowMs, this.#quota.units, bucket ? this.#quota.ratePerMs : 0)
    if (bucket) return
    this.#level.units = Math.min(this.#quota.units, this.#level.units + this.#own.creditDue(nowMs))
    if (nowMs < this.#endMs) return
    // A return of our own that is due about now is the same event: one of the two counts, never both.
    const same = this.#own.nextReturnMs - nowMs <= 4 * this.#around.roundTrip.jitterMs + 10
    if (this.#flying.size === 0 && !same) this.#mayProbe = true
    this.#endMs = none
  }

  #learn(flight: Flight, call: OwnCall, nowMs: number, reading: Reading): void {
    const { limit } = reading
    if (limit === undefined) return
    const available = Math.min(limit.available, this.#quota.units)
    const first = !this.#heard
    if (first) {
      this.#heard = true
      this.#burst = available < this.#quota.units - 1 ? 1 : 4
      this.#windowStartMs = nowMs
      this.#level.units = available - this.#own.sentBetween(Number.NEGATIVE_INFINITY, none, call)
    }
    const tolerance = 2 * this.#around.roundTrip.jitterMs
    const atMs = flight.sentAtMs
    if (this.#newest !== undefined && atMs < this.#newest.atMs - tolerance) return
    const evidence = this.#evidence(call, nowMs, available, limit.effectiveWindowSeconds)
    call.available = available
    this.#judge(flight, evidence, reading)
    this.#correct(call, nowMs, available, reading)
    if (this.#newest === undefined || atMs > this.#newest.atMs) this.#newest = { atMs, available }
    else if (atMs === this.#newest.atMs) this.#newest.available = Math.min(available, this.#newest.available)
    this.#setEnd(nowMs, available, limit.effectiveWindowMs, limit.effectiveWindowSeconds)
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
      endMs: this.#endMs,
      jitterMs,
    }
  }

  #judge(flight: Flight, evidence: Evidence, reading: Reading): void {
    const guessing = this.#quota.refill === undefined && this.#quota.ratePerMs > 0
    const { previous } = evidence
    if (guessing) {
      this.#votes.weigh(evidence, this.#quota)
      if (this.#testing === flight) {
        this.#testing = undefined
        const still =
          previous !== undefined &&
          evidence.available <= previous.available - evidence.sentBetween - evidence.taken
        if (still) this.#votes.pauseBroughtNothing()
      }
      if (this.#mode === 'bucket' && reading.refusedHere && this.#explained(evidence))
        this.#votes.refusedUnexplained()
      this.#mode = this.#votes.decide(this.#mode)
    }
    if (this.#mode === 'bucket' || !givenBackEarly(evidence, this.#quota)) return
    this.#level.units -= this.#own.creditedSince(evidence.atMs)
    this.#own.startAfresh(evidence.atMs - 2 * evidence.jitterMs)
    this.#endMs = none
    this.#windowStartMs = evidence.atMs
  }

  #explained(evidence: Evidence): boolean {
    const { atMs, jitterMs } = evidence
    const mine = this.#own.used(atMs - this.#quota.windowMs, atMs + 2 * jitterMs)
    return this.#quota.units - evidence.available - mine < 1
  }

  #correct(call: OwnCall, nowMs: number, available: number, reading: Reading): void {
    const { leastMs, jitterMs } = this.#around.roundTrip
    const bucket = this.#mode === 'bucket'
    const { atMs } = call
    const seen = {
      available,
      returnedAtMost: bucket ? this.#quota.ratePerMs * (nowMs - atMs) : this.#own.creditedSince(atMs),
      returnedAtLeast: bucket
        ? this.#quota.ratePerMs * (leastMs - 2 * jitterMs)
        : this.#own.creditedAfter(nowMs - leastMs, this.#quota.windowMs),
      after: this.#own.sentBetween(atMs + 2 * jitterMs, none, call),
      perhapsLater: this.#own.perhapsLater(atMs - 2 * jitterMs, available, call),
      unstated: bucket ? unstatedPart + this.#quota.ratePerMs * jitterMs : 0,
    }
    const { most, least } = bounds(seen, this.#quota.units)
    const foreign = this.#level.units - most
    if (foreign > 0) this.#level.units = most
    else if (this.#level.units < least) {
      if (!bucket)
        this.#own.returned(least - this.#level.units, nowMs - leastMs - this.#quota.windowMs + 2 * jitterMs)
      this.#level.units = least
    }
    if (reading.refusedHere && available === 0)
      this.#level.units = Math.min(this.#level.units, bucket ? 0.5 : 0)
    if (available > 0) this.#silent = 0
    if (!reading.refused && foreign < 1) this.#burst = this.#burst >= freeBurst ? none : this.#burst * 2
  }

  /** An answer with nothing left says when the next unit comes, at the latest. */
  #setEnd(nowMs: number, available: number, ms: number | undefined, seconds: number | undefined): void {
    if (available > 0) return
    const stated = ms ?? (seconds ?? 0) * 1000
    const waitMs = stated > 0 ? stated : this.#quota.windowMs
    if (waitMs === none) this.#silent = Math.min(30, this.#silent + 1)
    const latest = nowMs - this.#around.roundTrip.leastMs + waitMs + 1
    this.#endMs = nowMs >= this.#endMs ? latest : Math.min(this.#endMs, latest)
  }

  #tidy(nowMs: number): void {
    const { windowMs } = this.#quota
    const tolerance = 4 * this.#around.roundTrip.jitterMs
    const horizon = (this.#newest?.atMs ?? Number.NEGATIVE_INFINITY) - tolerance
    this.#own.tidy(horizon, nowMs - 1.1 * windowMs - 1000, tolerance, this.#quota)
  }
}
