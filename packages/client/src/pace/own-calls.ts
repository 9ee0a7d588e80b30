import type { OwnCall } from './own-call.js'
import type { Quota } from './quota.js'

const exactUpTo = 512
const slotsPerWindow = 64

/**
 * Own calls of the last window under one limit, oldest first. Calls that an answer still on its way may have to
 * be compared with are kept one by one; older ones of a large quota are merged by slots of the window, so that
 * memory stays bounded whatever quota is stated.
 */
export class OwnCalls {
  /** When the next own call returns; Infinity if none is due. */
  nextReturnMs: number = Number.POSITIVE_INFINITY
  #older: OwnCall[] = []
  #recent: OwnCall[] = []
  #olderLatestMs: number = Number.NEGATIVE_INFINITY
  #lastCreditMs: number = Number.NEGATIVE_INFINITY

  /** How many entries are kept. */
  get size(): number {
    return this.#older.length + this.#recent.length
  }

  book(atMs: number, units: number): OwnCall {
    const never = Number.POSITIVE_INFINITY
    const call = {
      atMs,
      units,
      flying: true,
      latestMs: never,
      available: -1,
      returnsAtMs: never,
      back: false,
      gone: false,
    }
    let index = this.#recent.length
    while (index > 0 && (this.#recent[index - 1]?.atMs ?? 0) > atMs) index -= 1
    this.#recent.splice(index, 0, call)
    return call
  }

  /**
   * The call is over. If it took units, the server counted them at `latestMs` at the latest, and a rolling window
   * gives them back by `returnsAtMs`; a refused call took none and leaves no trace.
   */
  settled(call: OwnCall, latestMs: number, returnsAtMs: number): void {
    call.flying = false
    call.latestMs = latestMs
    call.returnsAtMs = returnsAtMs
    if (!call.gone && call.units > 0) this.nextReturnMs = Math.min(this.nextReturnMs, returnsAtMs)
  }

  /** Units of other own calls sent later than `afterMs`, up to and including `untilMs`. */
  sentBetween(afterMs: number, untilMs: number, except?: OwnCall): number {
    let units = 0
    for (let index = this.#recent.length - 1; index >= 0; index -= 1) {
      const call = this.#recent[index]
      if (call === undefined || call.atMs <= afterMs) break
      if (call.atMs <= untilMs && call !== except) units += call.units
    }
    return units
  }

  /**
   * Units of other own calls that may have come after the event of an answer, however late they were: those that
   * need not have arrived before `atMs`, but for those whose own answer left more than `available`. If one of
   * these did come later, what it left is a better floor than ours; so the floor stands either way.
   */
  perhapsLater(atMs: number, available: number, except: OwnCall): number {
    const counts = (call: OwnCall) => call.latestMs >= atMs && call.available <= available && call !== except
    let units = 0
    for (const call of this.#recent) if (counts(call)) units += call.units
    if (this.#olderLatestMs < atMs) return units
    for (const call of this.#older) if (counts(call)) units += call.units
    return units
  }

  /** Units that a rolling window must still count: answered calls sent before `untilMs` and after `afterMs`. */
  outstanding(afterMs: number, untilMs: number): number {
    return this.#sum((call) => !call.flying && !call.gone && call.atMs > afterMs && call.atMs < untilMs)
  }

  /** Own units sent after `afterMs`, up to and including `untilMs`, whether answered yet or not. */
  used(afterMs: number, untilMs: number, except?: OwnCall): number {
    return this.#sum((call) => call !== except && call.atMs > afterMs && call.atMs <= untilMs)
  }

  /** Units whose return is due now; each is credited once. */
  creditDue(nowMs: number): number {
    if (this.nextReturnMs > nowMs) return 0
    return this.#credit((call) => call.returnsAtMs <= nowMs, Number.POSITIVE_INFINITY)
  }

  /** Calls whose return is due have no return any more; says whether there were any. */
  forgetDue(nowMs: number): boolean {
    if (this.nextReturnMs > nowMs) return false
    this.#each((call) => {
      if (call.returnsAtMs <= nowMs && !call.back) call.gone = true
    })
    this.#findNextReturn()
    return true
  }

  /** Marks up to `units` of calls sent before `untilMs` as returned: an answer has already counted them. */
  returned(units: number, untilMs: number): void {
    this.#credit((call) => call.atMs < untilMs, units)
  }

  /** Units credited for returns that may have happened after `afterMs`. */
  creditedSince(afterMs: number): number {
    if (this.#lastCreditMs <= afterMs) return 0
    return this.#sum((call) => call.back && !call.gone && call.returnsAtMs > afterMs)
  }

  /** Units credited for returns that cannot have happened by `untilMs`: calls sent less than a window before it. */
  creditedAfter(untilMs: number, windowMs: number): number {
    if (this.#lastCreditMs <= untilMs) return 0
    return this.#sum((call) => call.back && !call.gone && call.atMs + windowMs > untilMs)
  }

  /** The server started afresh: nothing sent before `untilMs` has a return ahead of it. */
  startAfresh(untilMs: number): void {
    this.#each((call) => {
      if (call.atMs < untilMs) call.gone = true
    })
    this.#findNextReturn()
  }

  /**
   * Forgets what no later answer can refer to: calls sent before `oldestMs` leave for good, and those sent before
   * `horizonMs`, or before every call still on its way, are not compared one by one any more.
   */
  tidy(
    horizonMs: number,
    oldestMs: number,
    toleranceMs: number,
    quota: Pick<Quota, 'units' | 'windowMs'>,
  ): void {
    const firstFlying = this.#recent.find((call) => call.flying && call.atMs >= horizonMs)
    const horizon = firstFlying === undefined ? Number.POSITIVE_INFINITY : firstFlying.atMs - toleranceMs
    const exact = quota.units <= exactUpTo || quota.windowMs === Number.POSITIVE_INFINITY
    const slotMs = exact ? 0 : quota.windowMs / slotsPerWindow
    let folded = 0
    for (const call of this.#recent) {
      if (call.atMs >= Math.max(horizon, horizonMs)) break
      this.#fold(call, slotMs)
      folded += 1
    }
    this.#recent.splice(0, folded)
    let drop = Math.max(0, this.#older.length - 2 * Math.min(quota.units, exactUpTo) - slotsPerWindow)
    while (drop < this.#older.length && (this.#older[drop]?.atMs ?? oldestMs) < oldestMs) drop += 1
    if (drop === 0) return
    this.#older.splice(0, drop)
    this.#findNextReturn()
  }

  #fold(call: OwnCall, slotMs: number): void {
    if (call.units === 0 && !call.flying) return
    this.#olderLatestMs = Math.max(this.#olderLatestMs, call.latestMs)
    const last = this.#older[this.#older.length - 1]
    const alike =
      last !== undefined && !last.flying && !call.flying && last.back === call.back && last.gone === call.gone
    if (slotMs > 0 && alike && Math.floor(last.atMs / slotMs) === Math.floor(call.atMs / slotMs)) {
      last.units += call.units
      last.atMs = call.atMs
      last.latestMs = Math.max(last.latestMs, call.latestMs)
      last.available = Math.min(last.available, call.available)
      last.returnsAtMs = Math.max(last.returnsAtMs, call.returnsAtMs)
      return
    }
    this.#older.push(call)
  }

  #credit(due: (call: OwnCall) => boolean, most: number): number {
    let units = 0
    this.#each((call) => {
      if (call.flying || call.back || call.gone || !due(call)) return
      if (units + call.units > most + 0.5) return
      units += call.units
      call.back = true
      this.#lastCreditMs = Math.max(this.#lastCreditMs, call.returnsAtMs)
    })
    this.#findNextReturn()
    return units
  }

  #findNextReturn(): void {
    let next = Number.POSITIVE_INFINITY
    this.#each((call) => {
      if (!call.flying && !call.back && !call.gone && call.units > 0) next = Math.min(next, call.returnsAtMs)
    })
    this.nextReturnMs = next
  }

  #sum(counts: (call: OwnCall) => boolean): number {
    let units = 0
    this.#each((call) => {
      if (counts(call)) units += call.units
    })
    return units
  }

  #each(visit: (call: OwnCall) => void): void {
    for (const call of this.#older) visit(call)
    for (const call of this.#recent) visit(call)
  }
}
