import type { Clock } from '@ratepact/contract'

/** Above this a platform's timer fires at once. Whoever is woken early looks at the clock and waits on. */
const longestTimerMs = 2 ** 31 - 1

/** One timer that can be set anew. It exists, and keeps a process alive, only between `set` and its firing. */
export class Alarm {
  readonly #clock: Clock
  readonly #run: () => void
  #timer: { readonly handle: unknown; readonly atMs: number } | undefined

  constructor(clock: Clock, run: () => void) {
    this.#clock = clock
    this.#run = run
  }

  /** Fires at the instant, or before it when that is too far away for a timer. */
  set(atMs: number): void {
    if (this.#timer?.atMs === atMs) return
    this.clear()
    // A timer may fire a fraction early: rounding up keeps the waking from being a loop of empty turns.
    const ms = Math.min(Math.max(1, Math.ceil(atMs - this.#clock.now())), longestTimerMs)
    const handle = this.#clock.setTimeout(() => {
      this.#timer = undefined
      this.#run()
    }, ms)
    this.#timer = { handle, atMs }
  }

  /** Fires at that instant if it would not fire before. */
  setBefore(atMs: number): void {
    if (!(this.#timer !== undefined && this.#timer.atMs <= atMs)) this.set(atMs)
  }

  clear(): void {
    if (this.#timer !== undefined) this.#clock.clearTimeout(this.#timer.handle)
    this.#timer = undefined
  }
}
