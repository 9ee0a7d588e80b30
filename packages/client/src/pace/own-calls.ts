import { never, type Quota } from './quota.js'

/** One own call under one limit, or several of the past taken together. */
export interface OwnCall {
  readonly atMs: number
  /** What it takes from the quota; 0 once it is known to have been refused. */
  units: number
  /** Until when the server may have counted it at the latest; Infinity while it is on its way. */
  latestMs: number
  /** What its own answer said was left after it; -1 if it has none. */
  left: number
  /** When a rolling window has given it back at the latest; Infinity while unknown. */
  returnsMs: number
  /** What the level has been credited with for its return. */
  back: number
  /** Units of all calls before it, where that is reckoned. */
  sum: number
}

const exactUpTo = 512
const slotsPerWindow = 64

/**
 * Own calls of the last window under one limit. Sums over stretches of time are kept, so that an answer costs hardly
 * more with many calls in flight than with one. Of a large quota old ones are merged by slots of the window, and of
 * any there are no more than can matter, so that memory stays bounded whatever is stated.
 */
export class OwnCalls {
  /** Calls on their way, in the order in which they were booked. */
  readonly flying: Set<OwnCall> = new Set()
  flyingUnits = 0
  /** By the time of sending; sums are right up to `#clean`. */
  #calls: OwnCall[] = []
  #clean = 0
  /** Answered ones by the time of their return; those before `#head` are back, or will not be. */
  #due: OwnCall[] = []
  #head = 0
  /** When the last return that was credited was due. */
  #creditedMs: number = -never
  /** What was sent before was given back early, with the rest of its window: no return is due any more. */
  #goneMs: number = -never
  #tidyAt = 256

  /** How many entries are kept. */
  get size(): number {
    return this.#calls.length + this.#due.length
  }

  /** When the next own call returns; Infinity if none is due. */
  get nextReturnMs(): number {
    return this.#due[this.#head]?.returnsMs ?? never
  }

  book(atMs: number, units: number): OwnCall {
    const call = { atMs, units, latestMs: never, left: -1, returnsMs: never, back: 0, sum: 0 }
    const index = this.#index(atMs, true)
    this.#calls.splice(index, 0, call)
    this.#clean = Math.min(this.#clean, index)
    this.flying.add(call)
    this.flyingUnits += units
    return call
  }

  /**
   * The call is over. If it took units, the server counted them at `latestMs` at the latest, and a rolling window
   * gives them back by `returnsMs`; a refused call took none and leaves no trace.
   */
  settled(call: OwnCall, units: number, latestMs: number, returnsMs: number): void {
    this.flying.delete(call)
    this.flyingUnits -= call.units
    if (units !== call.units) this.#clean = Math.min(this.#clean, this.#index(call.atMs, false))
    call.units = units
    call.latestMs = latestMs
    call.returnsMs = Math.max(returnsMs, this.#due[this.#due.length - 1]?.returnsMs ?? returnsMs)
    if (units > 0) this.#due.push(call)
    this.#skipGone()
  }

  /** Answered calls may have been counted so much later than was thought. */
  putOff(ms: number): void {
    for (const call of this.#due.slice(this.#head)) {
      call.latestMs += ms
      call.returnsMs += ms
    }
  }

  /** Units sent later than `afterMs`, up to and including `untilMs`, whether answered yet or not. */
  sent(afterMs: number, untilMs: number, except?: OwnCall): number {
    const units = this.#before(this.#index(untilMs, true)) - this.#before(this.#index(afterMs, true))
    return except !== undefined && except.atMs > afterMs && except.atMs <= untilMs
      ? units - except.units
      : units
  }

  /** Units that a rolling window must still count: answered calls sent before `untilMs` and after `afterMs`. */
  outstanding(afterMs: number, untilMs: number): number {
    const from = Math.max(this.#index(afterMs, true), this.#index(this.#goneMs, false))
    let units = Math.max(0, this.#before(this.#index(untilMs, false)) - this.#before(from))
    for (const call of this.flying) {
      if (call.atMs >= untilMs) break
      if (call.atMs > afterMs && call.atMs >= this.#goneMs) units -= call.units
    }
    return units
  }

  /**
   * Units of other own calls that may have come after the event of an answer, however late they were: those that
   * need not have arrived before `atMs`, but for those whose own answer left more than `available`. If one of
   * these did come later, what it left is a better floor than ours; so the floor stands either way.
   */
  perhapsLater(atMs: number, available: number, except: OwnCall): number {
    let units = this.flyingUnits
    for (let index = this.#due.length - 1; index >= 0; index -= 1) {
      const call = this.#due[index]
      if (call === undefined || call.latestMs < atMs) break
      if (call.left <= available && call !== except) units += call.units
    }
    return units
  }

  /** Units whose return is due now; each is credited once. */
  creditDue(nowMs: number): number {
    return this.#pass((call) => call.returnsMs <= nowMs, never)
  }

  /** Calls whose return is due have no return any more; says whether there were any. */
  forgetDue(nowMs: number): boolean {
    return this.nextReturnMs <= nowMs && this.#pass((call) => call.returnsMs <= nowMs, -1) >= 0
  }

  /** Marks up to `units` of calls sent before `untilMs` as returned: an answer has already counted them. */
  returned(units: number, untilMs: number): void {
    this.#pass((call) => call.atMs < untilMs, units)
  }

  /** Units credited for returns that may have happened after `sinceMs`: of calls sent less than `ageMs` before it. */
  credited(sinceMs: number, ageMs: number = never): number {
    let units = 0
    if (this.#creditedMs <= sinceMs) return 0
    for (let index = this.#head - 1; index >= 0; index -= 1) {
      const call = this.#due[index]
      if (call === undefined || call.returnsMs <= sinceMs) break
      if (call.atMs >= this.#goneMs && call.atMs + ageMs > sinceMs) units += call.back
    }
    return units
  }

  /** The server started afresh: nothing sent before `untilMs` has a return ahead of it. */
  startAfresh(untilMs: number): void {
    this.#goneMs = Math.max(this.#goneMs, untilMs)
    this.#skipGone()
  }

  /**
   * Forgets what no later answer can refer to: calls sent before `oldestMs` leave for good, those sent before
   * `horizonMs` are not compared one by one any more. Done once in a while, for all at once.
   */
  tidy(horizonMs: number, oldestMs: number, { units, windowMs }: Pick<Quota, 'units' | 'windowMs'>): void {
    if (this.size < this.#tidyAt) return
    const slotMs = units > exactUpTo && windowMs < never ? windowMs / slotsPerWindow : 0
    const most = 2 * Math.min(units, exactUpTo) + slotsPerWindow
    const young = this.#calls.filter((call) => call.atMs >= Math.min(oldestMs, horizonMs))
    const back = this.#due
      .slice(0, this.#head)
      .filter((call) => call.returnsMs >= horizonMs && call.atMs >= this.#goneMs)
    this.#calls = fold(young, horizonMs, slotMs, most)
    this.#due = [...back, ...fold(this.#due.slice(this.#head), horizonMs, slotMs, most)]
    this.#head = back.length
    this.#clean = 0
    this.#tidyAt = 2 * this.size + 256
  }

  /** The first index with an instant of at least `ms`, or, if `later`, of more. */
  #index(ms: number, later: boolean): number {
    let low = 0
    let high = this.#calls.length
    while (low < high) {
      const middle = (low + high) >> 1
      const atMs = this.#calls[middle]?.atMs ?? never
      if (atMs < ms || (later && atMs === ms)) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Units of all calls before that index. */
  #before(index: number): number {
    for (; this.#clean < index; this.#clean += 1) {
      const call = this.#calls[this.#clean]
      const last = this.#calls[this.#clean - 1]
      if (call !== undefined) call.sum = last === undefined ? 0 : last.sum + last.units
    }
    const last = this.#calls[index - 1]
    return last === undefined ? 0 : last.sum + last.units
  }

  /** Lets calls return, in order, as long as they may and come to no more than `most`; credits none if that is negative. */
  #pass(may: (call: OwnCall) => boolean, most: number): number {
    let units = 0
    for (let call = this.#due[this.#head]; call !== undefined && may(call); call = this.#due[this.#head]) {
      if (most >= 0 && call.atMs >= this.#goneMs) {
        if (units + call.units > most + 0.5) break
        call.back = call.units
        this.#creditedMs = call.returnsMs
        units += call.units
      }
      this.#head += 1
    }
    this.#skipGone()
    return units
  }

  #skipGone(): void {
    while ((this.#due[this.#head]?.atMs ?? never) < this.#goneMs) this.#head += 1
  }
}

/** Merges calls of before the horizon that fall into one slot, and keeps so many of those at most. */
function fold(calls: readonly OwnCall[], horizonMs: number, slotMs: number, most: number): OwnCall[] {
  const kept: OwnCall[] = []
  let old = 0
  for (const call of calls) {
    const last = kept[kept.length - 1]
    const past = call.latestMs < horizonMs
    const slot = (of: OwnCall): number => Math.floor(of.atMs / slotMs)
    if (past && slotMs > 0 && last !== undefined && last.latestMs < horizonMs && slot(last) === slot(call)) {
      kept[kept.length - 1] = { ...call, units: call.units + last.units }
      continue
    }
    if (past) old += 1
    kept.push(call)
  }
  return kept.slice(Math.max(0, old - most))
}
