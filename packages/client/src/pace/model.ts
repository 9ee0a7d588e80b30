import type { ServiceLimit } from '@ratepact/contract'
import { Guess } from './guess.js'
import { Level, lateMs, needed } from './level.js'
import { type OwnCall, OwnCalls } from './own-calls.js'
import { never, type Quota, unstated } from './quota.js'
import type { RoundTrip } from './round-trip.js'
import { statedMs } from './stated.js'
import { type Evidence, givenBackEarly, type Mode } from './votes.js'
import { WindowEdge } from './window-edge.js'

const tiny = 1e-6
/** `r` is rounded down: almost a whole unit more may be there. */
const unstatedPart = 0.999

/** One call that wants to go, and what it stands among. */
export interface Asking {
  readonly nowMs: number
  readonly cost: number
  readonly queued: number
  readonly lastSendMs: number
  /** Others use the quota, too. */
  readonly contested: boolean
}

/** What one answer shows, of the limit and of others who use it. */
export interface Sighting extends Evidence {
  readonly quota: Quota
  mode: Mode
  readonly nowMs: number
  /** This limit is what refused the call. */
  readonly refused: boolean
  /** Own units of the last window. */
  readonly own: number
  /** Units in use at the server that own calls of the last window do not explain. */
  readonly unexplained: number
  /** Units that went since the last answer, or (negative) came, unexplained by own calls. */
  foreign: number
  /** Units came back early: a window began. */
  began: boolean
  /** How many clients share the limit, where the server counts them. */
  readonly instances: number | undefined
}

/**
 * What is left of a quota counted in requests, by own sends and what answers say. It is never believed to be more
 * than the answers prove, whatever order they come in, and comes down at once when one says less.
 */
export class Model {
  quota: Quota = unstated
  /** Answers in a row that left nothing and said nothing of when. */
  silent = 0
  readonly edge: WindowEdge
  readonly #roundTrip: RoundTrip
  readonly #own = new OwnCalls()
  readonly #guess = new Guess()
  readonly #level: Level
  #newest: Evidence['previous']
  /** Until when an answer that left something says that no more comes. */
  #moreMs: number = never
  #touched = false
  /** The least round trip that was known when a call was settled last. */
  #leastMs = 0

  constructor(roundTrip: RoundTrip, nowMs: number) {
    this.#roundTrip = roundTrip
    this.#level = new Level(0, nowMs)
    this.edge = new WindowEdge(nowMs)
  }

  /** Takes what a policy promises. Before the first send and answer the quota counts as whole. */
  promise(quota: Quota): void {
    this.quota = quota
    if (quota.ratePerMs > 0) this.#guess.told(quota.refill)
    this.#level.units = this.#touched ? Math.min(this.units, quota.units) : quota.units
  }

  /** Units left now. */
  get units(): number {
    return this.#level.units
  }

  /** Some answer has stated the limit. */
  get heard(): boolean {
    return this.#newest !== undefined
  }

  /** How the limit gives back, as far as is known. */
  get mode(): Mode {
    return this.#guess.mode
  }

  /** It gives all back at once. */
  get steps(): boolean {
    return this.#guess.steps(this.quota)
  }

  get #isBucket(): boolean {
    return this.mode === 'bucket'
  }

  /** Brings everything up to now. `idle`: no own call is in flight. */
  advance(nowMs: number, idle: boolean): void {
    const { quota } = this
    const { flying, flyingUnits, nextReturnMs } = this.#own
    if (this.#isBucket) {
      const [oldest] = flying
      const late = lateMs(quota, this.#roundTrip, nowMs - (oldest?.atMs ?? nowMs))
      this.#level.refill(nowMs, quota, late, flying, flyingUnits)
      return
    }
    this.#level.pass(nowMs)
    if (this.#guess.trustsReturns(quota)) {
      this.#level.units = Math.min(quota.units, this.units + this.#own.creditDue(nowMs))
    } else if (this.#own.forgetDue(nowMs)) this.edge.suppose()
    const { leastMs, jitterMs } = this.#roundTrip
    // A bucket's next unit is part of what own calls give back; where it may be one for good, their returns are all.
    const counted = nextReturnMs < never && this.#guess.cannotTell(quota)
    // A quarter of a round trip: what returns were reckoned with while few round trips were known.
    this.edge.advance(nowMs, idle, this.#own.nextReturnMs, counted ? never : 4 * jitterMs + leastMs / 4 + 10)
  }

  /** When enough should be there for a call, by what is known now; Infinity if nothing says so. */
  enoughMs({ nowMs, cost, queued, contested }: Asking, idle: boolean): number {
    if (cost === 0 || (idle && this.edge.mayAsk)) return nowMs
    const { units, quota } = this
    const bucket = this.#isBucket
    const need = bucket
      ? needed(cost, units, quota, contested ? 0 : queued, this.#roundTrip.jitterMs)
      : Math.min(cost, quota.units)
    if (need - units <= tiny) return nowMs
    if (bucket) return nowMs + (need - units) / quota.ratePerMs
    const { endMs, leastEndMs } = this.edge
    // Among others it does not matter to be a little early: somebody is, and answers tell.
    const early = contested && !(this.mode === 'window' && quota.windowMs > 3000)
    const moreMs = need > (this.#newest?.available ?? never) ? this.#askMs(nowMs, idle) : never
    return Math.min(endMs, this.#own.nextReturnMs, moreMs, early ? Math.max(nowMs, leastEndMs) : never)
  }

  /** When a call that is dearer than what was left finds out whether more came: no answer in flight will tell. */
  #askMs(nowMs: number, idle: boolean): number {
    return idle || nowMs < this.#moreMs ? Math.max(nowMs, this.#moreMs) : never
  }

  /** Until when a call that finds enough is held back all the same, while more is queued than is left. */
  heldBackMs({ nowMs, queued, lastSendMs }: Asking): number {
    const { units, quota } = this
    if (queued <= units || !this.heard) return nowMs
    const pause = this.#guess.pauseMs(units, quota, this.#roundTrip.jitterMs)
    // What returns before that is not to be had by waiting: it tells nothing.
    if (pause > 0) return Math.min(lastSendMs + pause, this.#own.nextReturnMs)
    return this.mode === 'window' ? this.edge.keptUntilMs(units, quota) : nowMs
  }

  /** Books a call that goes now; `lastSendMs` is when the one before it went. */
  spend(nowMs: number, units: number, lastSendMs: number): OwnCall {
    const pause = this.#guess.pauseMs(this.units, this.quota, this.#roundTrip.jitterMs)
    const asks = this.edge.mayAsk
    if (asks) this.#level.units = Math.max(this.units, units)
    this.edge.asked()
    const call = this.adopt(nowMs, units)
    if (!asks && this.heard && pause > 0 && nowMs >= lastSendMs + pause - tiny) this.#guess.paused(call)
    return call
  }

  /** Books a call that was on its way before the limit was known. */
  adopt(sentAtMs: number, units: number): OwnCall {
    this.#touched = true
    this.#level.units -= units
    return this.#own.book(sentAtMs, units)
  }

  /** An answer has come that charged so many units: 0 if it refused. Without one the call may count until now. */
  settle(call: OwnCall, nowMs: number, units?: number): void {
    const answered = units !== undefined
    const taken = units ?? call.units
    const { leastMs } = this.#roundTrip
    // What was reckoned with another one was so much too early, or too late.
    if (leastMs !== this.#leastMs) this.#own.putOff(this.#leastMs - leastMs)
    this.#leastMs = leastMs
    const latestMs = answered ? nowMs - leastMs : nowMs
    const slackMs = answered ? Math.max(2, this.#roundTrip.jitterMs) : 0
    this.#level.units += call.units - taken
    this.#own.settled(call, taken, latestMs, latestMs + this.quota.windowMs + slackMs)
  }

  /**
   * Learns what a settled call's answer states; returns what it shows of others, unless it is too old to count.
   * @param refused this limit is what refused the call
   * @param contested others are known to use the limit
   */
  learn(
    call: OwnCall,
    nowMs: number,
    limit: ServiceLimit,
    refused: boolean,
    contested: boolean,
  ): Sighting | undefined {
    const { quota } = this
    const { atMs } = call
    const newest = this.#newest
    const available = Math.min(limit.available, quota.units)
    if (newest === undefined) {
      this.edge.begin(nowMs)
      this.#level.units = available - this.#own.flyingUnits
    } else if (atMs < newest.atMs - 2 * this.#roundTrip.jitterMs) return undefined
    const seen = this.#look(call, nowMs, limit, available, refused)
    call.left = available
    this.#guess.weigh(call, seen, quota, refused, !contested && seen.unexplained < 1, contested)
    seen.mode = this.mode
    this.edge.told()
    seen.began = !this.#isBucket && givenBackEarly(seen, quota)
    if (seen.began) this.#startAfresh(seen)
    seen.foreign = this.#correct(call, nowMs, available)
    if (refused && available === 0) this.#level.units = Math.min(this.units, this.#isBucket ? 0.5 : 0)
    // Of answers whose calls may have arrived in another order, the least was the last.
    const later = newest === undefined || atMs > newest.atMs + 2 * seen.jitterMs
    if (later) this.#newest = { atMs, available }
    else
      this.#newest = { atMs: Math.max(atMs, newest.atMs), available: Math.min(available, newest.available) }
    this.#noteEnd(limit, seen, contested || (limit.instances ?? 1) > 1)
    return seen
  }

  /** Forgets what no later answer can refer to. */
  tidy(nowMs: number): void {
    const [oldest] = this.#own.flying
    const newestMs = Math.max(this.#newest?.atMs ?? -never, oldest?.atMs ?? nowMs, nowMs - 60_000)
    this.#own.tidy(
      newestMs - 4 * this.#roundTrip.jitterMs,
      nowMs - 1.1 * this.quota.windowMs - 1000,
      this.quota,
    )
  }

  /** What the answer to a call shows, beside the own calls around it. */
  #look(call: OwnCall, nowMs: number, limit: ServiceLimit, available: number, refused: boolean): Sighting {
    const { leastMs, jitterMs } = this.#roundTrip
    const { units, windowMs, refill } = this.quota
    const { atMs } = call
    const own = this.#own
    const previous = this.#newest
    const early = atMs - 2 * jitterMs
    const wider = this.#isBucket ? 0 : 2 * jitterMs + leastMs
    const used = own.sent(atMs - windowMs - wider, atMs + 2 * jitterMs)
    // Of a bucket that is stated to be one, nothing is to be found out.
    const stated = this.#isBucket && refill !== undefined
    return {
      quota: this.quota,
      mode: this.mode,
      nowMs,
      atMs,
      available,
      effectiveWindowSeconds: limit.effectiveWindowSeconds,
      taken: call.units,
      previous,
      sentBetween: stated || previous === undefined ? 0 : Math.max(0, own.sent(previous.atMs, early, call)),
      outstanding: stated ? 0 : own.outstanding(nowMs - leastMs - windowMs, early),
      maybe: stated ? 0 : own.sent(early, atMs + 2 * jitterMs, call),
      endMs: this.edge.endMs,
      jitterMs,
      own: used,
      unexplained: units - available - used,
      refused,
      foreign: 0,
      began: false,
      instances: limit.instances,
    }
  }

  /** What came back early came back with its whole window: own calls of before return no more. */
  #startAfresh({ atMs, jitterMs }: Sighting): void {
    this.#level.units -= this.#own.credited(atMs)
    this.#own.startAfresh(atMs - 2 * jitterMs)
    this.edge.begin(atMs)
  }

  /**
   * Brings the level within what the answer leaves possible; returns the units that others must have used, or
   * (negative, of a bucket) not used.
   */
  #correct(call: OwnCall, nowMs: number, available: number): number {
    const { leastMs, jitterMs } = this.#roundTrip
    const { windowMs, units, ratePerMs } = this.quota
    const own = this.#own
    const bucket = this.#isBucket
    const { atMs } = call
    const returned = bucket ? ratePerMs * (nowMs - atMs) : own.credited(atMs)
    const unsaid = bucket ? unstatedPart + ratePerMs * jitterMs : 0
    const most = available + returned - own.sent(atMs + 2 * jitterMs, never, call) + unsaid
    const foreign = this.units - most
    if (foreign >= 0) {
      this.#level.units = most
      return foreign
    }
    const latestMs = nowMs - leastMs
    const surely = bucket ? ratePerMs * (leastMs - 2 * jitterMs) : own.credited(latestMs, windowMs)
    const top = Math.min(units, available + surely)
    // At least what flies may be counted later; only then is it worth counting what else may.
    if (this.units >= top - own.flyingUnits) return 0
    const least = top - own.perhapsLater(atMs - 2 * jitterMs, available, call)
    const short = least - this.units
    if (short <= 0) return 0
    this.#level.units = least
    if (bucket) return -short
    own.returned(short, latestMs - windowMs + 2 * jitterMs)
    return 0
  }

  #noteEnd(limit: ServiceLimit, { nowMs, atMs, available }: Sighting, shared: boolean): void {
    const stated = statedMs(limit)
    const waitMs = stated > 0 ? stated : this.quota.windowMs
    this.silent = available > 0 || waitMs < never ? 0 : Math.min(30, this.silent + 1)
    const latestMs = nowMs - this.#roundTrip.leastMs + waitMs + 1
    this.#moreMs = (this.#newest?.available ?? 0) > 0 ? latestMs : never
    if (available > 0 && !(shared && this.mode === 'window')) return
    const earliestMs = atMs + (limit.effectiveWindowMs ?? Math.max(0, stated - 1000))
    this.edge.stated(latestMs, nowMs, earliestMs)
  }
}
