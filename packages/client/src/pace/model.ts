import type { ServiceLimit } from '@ratepact/contract'
import { evidenceOf, ownExplain } from './evidence.js'
import { Guess } from './guess.js'
import { lateMs } from './landing.js'
import { bounds, type Debit, Level, needed } from './level.js'
import type { OwnCall } from './own-call.js'
import { OwnCalls } from './own-calls.js'
import { type Quota, unstated } from './quota.js'
import type { RoundTrip } from './round-trip.js'
import { type Evidence, givenBackEarly } from './votes.js'
import { WindowEdge } from './window-edge.js'

const never = Number.POSITIVE_INFINITY
const tiny = 1e-6
/** `r` is rounded down: almost a whole unit more may be there. */
const unstatedPart = 0.999

/** A call under this limit, as it was booked. */
export interface Booking {
  readonly call: OwnCall
  readonly debit: Debit
}

/** One call that wants to go, and what it stands among. */
export interface Asking {
  readonly nowMs: number
  readonly cost: number
  readonly queued: number
  readonly lastSendMs: number
}

/**
 * What is left of a quota counted in requests, by own sends and what answers say. It is never believed to be more
 * than the answers prove, whatever order they come in, and comes down at once when one says less.
 */
export class Model {
  quota: Quota = unstated
  /** Answers in a row that left nothing and said nothing of when. */
  silent = 0
  readonly #roundTrip: RoundTrip
  readonly #own = new OwnCalls()
  readonly #guess = new Guess()
  readonly #level: Level
  readonly #edge: WindowEdge
  #newest: { atMs: number; available: number } | undefined
  #touched = false

  constructor(roundTrip: RoundTrip, nowMs: number) {
    this.#roundTrip = roundTrip
    this.#level = new Level(0, nowMs)
    this.#edge = new WindowEdge(nowMs)
  }

  /** Takes what a policy promises. Before the first send and answer the quota counts as whole. */
  promise(quota: Quota): void {
    this.quota = quota
    if (quota.ratePerMs > 0) this.#guess.told(quota.refill)
    this.#level.units = this.#touched ? Math.min(this.#level.units, quota.units) : quota.units
  }

  /** Units left now. */
  get units(): number {
    return this.#level.units
  }

  /** Some answer has stated the limit. */
  get heard(): boolean {
    return this.#newest !== undefined
  }

  /** Brings everything up to now. `idle`: no own call is in flight. */
  advance(nowMs: number, idle: boolean): void {
    if (this.#isBucket) {
      this.#level.refill(
        nowMs,
        this.quota.units,
        this.quota.ratePerMs,
        lateMs(this.quota, this.#roundTrip, nowMs - this.#level.oldestMs),
      )
      return
    }
    this.#level.pass(nowMs)
    if (this.#guess.trustsReturns(this.quota)) {
      this.#level.units = Math.min(this.quota.units, this.#level.units + this.#own.creditDue(nowMs))
    } else if (this.#own.forgetDue(nowMs)) this.#edge.suppose()
    const { leastMs, jitterMs } = this.#roundTrip
    const { nextReturnMs } = this.#own
    // A bucket's next unit is part of what own calls give back; where it may be one for good, their returns are all.
    const counted = nextReturnMs < never && this.#guess.cannotTell(this.quota)
    // A quarter of a round trip: what returns were reckoned with while few round trips were known.
    const tolerance = counted ? never : 4 * jitterMs + leastMs / 4 + 10
    this.#edge.advance(nowMs, idle, nextReturnMs, tolerance)
  }

  /** When enough should be there for a call, by what is known now; Infinity if nothing says so. */
  enoughMs(asking: Asking, idle: boolean): number {
    const { nowMs, cost, queued } = asking
    if (cost === 0 || (idle && this.#edge.mayAsk)) return nowMs
    const { units } = this.#level
    const { quota } = this
    const need = this.#isBucket
      ? needed(cost, units, quota, queued, this.#roundTrip.jitterMs)
      : Math.min(cost, quota.units)
    const missing = need - units
    if (missing <= tiny) return nowMs
    return this.#isBucket
      ? nowMs + missing / quota.ratePerMs
      : Math.min(this.#edge.endMs, this.#own.nextReturnMs)
  }

  /** Until when a call that finds enough is held back all the same, while more is queued than is left. */
  heldBackMs(asking: Asking): number {
    const { units } = this.#level
    if (asking.queued <= units || !this.heard) return asking.nowMs
    const pause = this.#guess.pauseMs(units, this.quota, this.#roundTrip.jitterMs)
    if (pause > 0) return asking.lastSendMs + pause
    if (this.#guess.mode !== 'window') return asking.nowMs
    return this.#edge.keptUntilMs(units, this.quota)
  }

  /** The next call goes because the server has said when to ask, whatever is left by the model. */
  ask(): void {
    this.#edge.due()
  }

  /** Books a call that goes now; `lastSendMs` is when the one before it went. */
  spend(nowMs: number, units: number, lastSendMs: number): Booking {
    const pause = this.#guess.pauseMs(this.#level.units, this.quota, this.#roundTrip.jitterMs)
    const asks = this.#edge.mayAsk
    if (asks) this.#level.units = Math.max(this.#level.units, units)
    this.#edge.asked()
    const booking = this.adopt(nowMs, units)
    const paused = pause > 0 && nowMs >= lastSendMs + pause - tiny
    if (!asks && this.heard && paused) this.#guess.paused(booking.call)
    return booking
  }

  /** Books a call that was on its way before the limit was known. */
  adopt(sentAtMs: number, units: number): Booking {
    this.#touched = true
    return { debit: this.#level.spend(units, sentAtMs), call: this.#own.book(sentAtMs, units) }
  }

  /** An answer has come that charged so many units: 0 if it refused. */
  settle({ call, debit }: Booking, nowMs: number, units: number): void {
    this.#level.landed(debit)
    this.#level.units += call.units - units
    call.units = units
    const latestMs = nowMs - this.#roundTrip.leastMs
    const slackMs = Math.max(2, this.#roundTrip.jitterMs)
    this.#own.settled(call, latestMs, latestMs + this.quota.windowMs + slackMs)
  }

  /** No answer will come: the call may have been counted until now. */
  settleUnanswered({ call, debit }: Booking, nowMs: number): void {
    this.#level.landed(debit)
    this.#own.settled(call, nowMs, nowMs + this.quota.windowMs)
  }

  /**
   * Learns what a settled call's answer states; returns the units that others must have used, as far as it shows.
   * @param refusedHere this limit is what refused the call
   */
  learn(call: OwnCall, nowMs: number, limit: ServiceLimit, refusedHere: boolean): number {
    const available = Math.min(limit.available, this.quota.units)
    const { leastMs, jitterMs } = this.#roundTrip
    const { atMs } = call
    const newest = this.#newest
    if (newest === undefined) this.#meet(call, nowMs, available)
    else if (atMs < newest.atMs - 2 * jitterMs) return 0
    const around = { own: this.#own, roundTrip: this.#roundTrip, quota: this.quota, nowMs }
    const evidence = evidenceOf(call, limit, this.#newest, this.#edge.endMs, around)
    call.available = available
    this.#guess.weigh(call, evidence, this.quota, refusedHere, refusedHere && ownExplain(evidence, around))
    this.#edge.told()
    if (!this.#isBucket && givenBackEarly(evidence, this.quota)) this.#startAfresh(evidence)
    const foreign = this.#correct(call, nowMs, available)
    if (refusedHere && available === 0) {
      this.#level.units = Math.min(this.#level.units, this.#isBucket ? 0.5 : 0)
    }
    if (newest === undefined || atMs > newest.atMs) this.#newest = { atMs, available }
    else if (atMs === newest.atMs) newest.available = Math.min(available, newest.available)
    const stated = limit.effectiveWindowMs ?? (limit.effectiveWindowSeconds ?? 0) * 1000
    const waitMs = stated > 0 ? stated : this.quota.windowMs
    this.silent = available > 0 || waitMs < never ? 0 : Math.min(30, this.silent + 1)
    if (available === 0) this.#edge.stated(nowMs - leastMs + waitMs + 1, nowMs)
    return foreign
  }

  /** Forgets what no later answer can refer to. */
  tidy(nowMs: number): void {
    const toleranceMs = 4 * this.#roundTrip.jitterMs
    const horizonMs = (this.#newest?.atMs ?? Number.NEGATIVE_INFINITY) - toleranceMs
    this.#own.tidy(horizonMs, nowMs - 1.1 * this.quota.windowMs - 1000, toleranceMs, this.quota)
  }

  get #isBucket(): boolean {
    return this.#guess.mode === 'bucket'
  }

  #meet(call: OwnCall, nowMs: number, available: number): void {
    this.#edge.begin(nowMs)
    this.#level.units = available - this.#own.sentBetween(Number.NEGATIVE_INFINITY, never, call)
  }

  /** What came back early came back with its whole window: own calls of before return no more. */
  #startAfresh(evidence: Evidence): void {
    this.#level.units -= this.#own.creditedSince(evidence.atMs)
    this.#own.startAfresh(evidence.atMs - 2 * evidence.jitterMs)
    this.#edge.begin(evidence.atMs)
  }

  /** Brings the level within what the answer leaves possible. */
  #correct(call: OwnCall, nowMs: number, available: number): number {
    const { leastMs, jitterMs } = this.#roundTrip
    const { windowMs, units, ratePerMs } = this.quota
    const bucket = this.#isBucket
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
    return Math.max(0, foreign)
  }
}
