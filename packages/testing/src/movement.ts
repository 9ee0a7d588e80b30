import { Timers } from './timers.js'
import { pause, settleTurns } from './turn.js'

/** Somebody who wants time to move. */
export interface Movement {
  /** Until when at most. */
  readonly endMs: number
  /** Whether it is to go exactly so far: an advance. Otherwise it goes as far as `isDone` needs. */
  readonly isExact: boolean
  isDone(): boolean
  end(): void
  fail(error: unknown): void
  /** What it fails with when it would have to go beyond its end. */
  tooFar(): Error
}

/** Pauses of a millisecond or more, while nothing is to be waited for, before a promise counts as never settling. */
const mostPauses = 2000

/**
 * Time that stands still unless somebody moves it. However many do at once, one loop takes one step after another for
 * all of them, each to the next wait or the next end, and only once promises have settled: no two of them can run the
 * same stretch of time or overtake what a promise is about to wait for. One that comes in the middle joins the loop.
 */
export class Time {
  readonly timers: Timers = new Timers()
  nowMs = 0
  readonly #movements = new Set<Movement>()
  #isRunning = false
  /** Whether somebody came or went since promises began to settle, and so has promises of their own to settle. */
  #changed = false
  #inTimer = false
  #pauses = 0

  /** Where an advance begins: where the last one under way ends, but at once from within the function of a wait. */
  get advanceFromMs(): number {
    const ends = this.#inTimer ? [] : [...this.#movements].filter(({ isExact }) => isExact)
    return Math.max(this.nowMs, ...ends.map(({ endMs }) => endMs))
  }

  move(movement: Movement): void {
    this.#changed = true
    this.#pauses = 0
    this.#movements.add(movement)
    if (!this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#movements.size > 0) {
      this.#changed = false
      await settleTurns()
      for (const movement of this.#movements) if (movement.isDone()) this.#end(movement)
      if (!this.#changed) await this.#step()
    }
    this.#isRunning = false
  }

  async #step(): Promise<void> {
    const { first, firstAwaited } = this.timers
    const stopMs = Math.min(
      ...[...this.#movements].filter(({ isExact }) => isExact).map(({ endMs }) => endMs),
    )
    const isAwaited = firstAwaited !== undefined || stopMs < Number.POSITIVE_INFINITY
    if (!isAwaited) return this.#pause()
    const nextMs = Math.max(this.nowMs, Math.min(first?.atMs ?? Number.POSITIVE_INFINITY, stopMs))
    for (const movement of this.#movements)
      if (!movement.isExact && movement.endMs < nextMs) this.#fail(movement, movement.tooFar())
    if (this.#movements.size === 0) return
    this.#pauses = 0
    this.nowMs = nextMs
    if (first !== undefined && first.atMs <= nextMs) return this.#runTimer()
    for (const movement of this.#movements)
      if (movement.isExact && movement.endMs <= nextMs) this.#end(movement)
  }

  #runTimer(): void {
    const timer = this.timers.first
    if (timer === undefined) return
    this.timers.remove(timer)
    this.#inTimer = true
    try {
      timer.run()
    } catch (error) {
      for (const movement of this.#movements) this.#fail(movement, error)
    } finally {
      this.#inTimer = false
    }
  }

  async #pause(): Promise<void> {
    this.#pauses += 1
    if (this.#pauses <= mostPauses) return pause()
    const error = new Error('Nothing is left to wait for, and the promise is still open')
    for (const movement of this.#movements) this.#fail(movement, error)
  }

  #end(movement: Movement): void {
    this.#changed = true
    this.#movements.delete(movement)
    movement.end()
  }

  #fail(movement: Movement, error: unknown): void {
    this.#movements.delete(movement)
    movement.fail(error)
  }
}
