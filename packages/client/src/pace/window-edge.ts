import { never, type Quota } from './quota.js'

const lateQuarterMs = 1200
const lateQuarterFromMs = 5000

/**
 * When a limit that gives back in jumps will do so next, as far as answers tell. What `t` states of an exhausted
 * limit is when more comes, not how much: the edge therefore lets one call ask, and never fills the level.
 */
export class WindowEdge {
  /** Latest instant of the next give-back; Infinity while never is known. */
  endMs: number = never
  /** Earliest instant of it, by what was stated last. */
  leastEndMs: number = never
  #startMs: number
  #mayAsk = false
  #supposed = false

  constructor(nowMs: number) {
    this.#startMs = nowMs
  }

  /** An answer with nothing left gives the instant of the next unit, at the latest. */
  stated(latestMs: number, nowMs: number, earliestMs: number): void {
    this.leastEndMs =
      nowMs >= this.endMs ? earliestMs : Math.max(earliestMs, this.leastEndMs === never ? 0 : this.leastEndMs)
    this.endMs = nowMs >= this.endMs ? latestMs : Math.min(this.endMs, latestMs)
  }

  /** A window began: at its first answer, or where units came back early. */
  begin(atMs: number): void {
    this.#startMs = atMs
    this.endMs = never
  }

  /**
   * Time passes. Nobody need ask while a call is in flight, nor where a return of our own is due about now: that is
   * the same event on a rolling window, and must not count twice.
   */
  advance(nowMs: number, idle: boolean, nextReturnMs: number, toleranceMs: number): void {
    if (this.#supposed && idle) {
      this.#mayAsk = true
      this.#supposed = false
    }
    if (nowMs < this.endMs) return
    this.#mayAsk ||= idle && nextReturnMs - nowMs > toleranceMs
    this.endMs = never
  }

  /** Something may have come back, but it is not sure: a call may ask, unless an answer in flight tells. */
  suppose(): void {
    this.#supposed = true
  }

  /** An answer has told what is there. */
  told(): void {
    this.#supposed = false
  }

  /** The edge has passed and a call may find out what came back. */
  get mayAsk(): boolean {
    return this.#mayAsk
  }

  /** The server has said that a call may ask now: no other end is waited for. */
  due(): void {
    this.#mayAsk = true
    this.endMs = never
  }

  asked(): void {
    this.#mayAsk = false
  }

  /**
   * Until when the last quarter of a window is kept: others know the edge only to the second, and one client would
   * take every window before they wake.
   */
  keptUntilMs(units: number, quota: Quota): number {
    const late = quota.windowMs >= lateQuarterFromMs && units < 1 + quota.units / 4
    return late ? Math.min(this.#startMs + lateQuarterMs, this.endMs) : -never
  }
}
