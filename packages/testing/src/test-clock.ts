import type { Clock } from '@ratepact/contract'
import { checkMembers, checkNumber, expected } from './check.js'
import { Timers } from './timers.js'
import { pause, settleTurns } from './turn.js'

/** How far `runUntil` goes. */
export interface RunUntilOptions {
  /** The most seconds of this clock that may pass before it gives up. @default 3600 */
  readonly maxSeconds?: number
}

/** A clock that stands still until a test moves it. Give the same one to the limited API and to the client. */
export interface TestClock extends Clock {
  /** How many waits are pending: 0 when nobody left a timer behind. */
  readonly pending: number
  /**
   * Moves time on by `ms` milliseconds, running each wait that ends meanwhile at its own instant and letting
   * promises settle after each. Rejects with what a wait's function throws.
   */
  advance(ms: number): Promise<void>
  /**
   * Moves time from one pending wait to the next until the promise settles, and settles as it does. However
   * long the waits are, no real time is spent on them.
   * @throws Error when the promise is still open after `maxSeconds`, or nothing that it could wait for is left
   */
  runUntil<T>(promise: PromiseLike<T>, options?: RunUntilOptions): Promise<T>
}

/** Above this a platform's timer would fire at once. */
const longestTimerMs = 2 ** 31 - 1
const yearMs = 366 * 86_400_000
/** Pauses of a millisecond or more, while no wait is pending, before a promise counts as one that never settles. */
const mostPauses = 2000

/**
 * A clock for tests, at 0 to begin with.
 * @example
 * const clock = testClock()
 * const api = limitedApi({ policies, clock })
 * const client = createFetch({ fetch: api.fetch, clock })
 * const responses = await clock.runUntil(Promise.all(calls.map((call) => client(call))))
 */
export function testClock(): TestClock {
  const timers = new Timers()
  let nowMs = 0

  function runFirst(): void {
    const timer = timers.first
    if (timer === undefined) return
    timers.remove(timer)
    nowMs = Math.max(nowMs, timer.atMs)
    timer.run()
  }

  async function advance(ms: number): Promise<void> {
    checkNumber('the milliseconds to advance by', ms, 0, yearMs)
    const endMs = nowMs + ms
    await settleTurns()
    while ((timers.first?.atMs ?? Number.POSITIVE_INFINITY) <= endMs) {
      runFirst()
      await settleTurns()
    }
    nowMs = Math.max(nowMs, endMs)
  }

  async function runUntil<T>(promise: PromiseLike<T>, options: RunUntilOptions = {}): Promise<T> {
    checkMembers('the options of runUntil', options, ['maxSeconds'])
    const { maxSeconds = 3600 } = options
    checkNumber('maxSeconds', maxSeconds, 0, yearMs / 1000)
    const endMs = nowMs + maxSeconds * 1000
    const outcome = watch(promise)
    let pauses = 0
    for (await settleTurns(); !outcome.settled; await settleTurns()) {
      const nextMs = timers.first?.atMs
      if (nextMs === undefined) {
        pauses += 1
        if (pauses > mostPauses) throw new Error('Nothing is left to wait for, and the promise is still open')
        await pause()
      } else if (nextMs > endMs) {
        throw new Error(`The promise is still open after ${maxSeconds} s of the test clock`)
      } else {
        pauses = 0
        runFirst()
      }
    }
    return promise
  }

  return {
    now: () => nowMs,
    get pending() {
      return timers.size
    },
    setTimeout(run, ms) {
      if (!(ms <= longestTimerMs)) {
        // The machine's clock would fire at once here; a test should tell, not hide it.
        throw new RangeError(expected('the milliseconds of a timer', `at most ${longestTimerMs}`, ms))
      }
      const timer = { atMs: nowMs + Math.max(1, ms), run }
      timers.add(timer)
      return timer
    },
    clearTimeout: (handle) => {
      timers.remove(handle)
    },
    advance,
    runUntil,
  }
}

function watch(promise: PromiseLike<unknown>): { readonly settled: boolean } {
  const outcome = { settled: false }
  const settle = (): void => {
    outcome.settled = true
  }
  promise.then(settle, settle)
  return outcome
}
