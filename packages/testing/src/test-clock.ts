import type { Clock } from '@ratepact/contract'
import { checkMembers, checkNumber, expected } from './check.js'
import { type Movement, Time } from './movement.js'

/** How far `runUntil` goes. */
export interface RunUntilOptions {
  /** The most seconds of this clock that may pass before it gives up. @default 3600 */
  readonly maxSeconds?: number
}

/** A clock that stands still until a test moves it. Give the same one to the limited API and to the client. */
export interface TestClock extends Clock {
  /** How many waits are pending: 0 when nobody left a timer behind. Those of `unref()` count too. */
  readonly pending: number
  /**
   * Moves time on by `ms` milliseconds, running each wait that ends meanwhile at its own instant and letting
   * promises settle after each. Rejects with what a wait's function throws. Called while another advance is under
   * way it begins where that one ends, but at once when the function of a wait calls it.
   */
  advance(ms: number): Promise<void>
  /**
   * Moves time from one pending wait to the next until the promise settles, and settles as it does. However
   * long the waits are, no real time is spent on them. Several at once, and advances meanwhile, share the way: each
   * ends where it would alone. Waits on which `unref()` was called are run as they are met, not waited for.
   * @throws Error when the promise is still open after `maxSeconds`, or nothing that it could wait for is left
   */
  runUntil<T>(promise: PromiseLike<T>, options?: RunUntilOptions): Promise<T>
}

/** Above this a platform's timer would fire at once. */
const longestTimerMs = 2 ** 31 - 1
const yearMs = 366 * 86_400_000
/**
 * A clock for tests, at 0 to begin with.
 * @example
 * const clock = testClock()
 * const api = limitedApi({ policies, clock })
 * const client = createFetch({ fetch: api.fetch, clock })
 * const responses = await clock.runUntil(Promise.all(calls.map((call) => client(call))))
 */
export function testClock(): TestClock {
  const time = new Time()

  async function advance(ms: number): Promise<void> {
    checkNumber('the milliseconds to advance by', ms, 0, yearMs)
    const endMs = time.advanceFromMs + ms
    await moved(time, { endMs, isExact: true, isDone: () => false })
  }

  async function runUntil<T>(promise: PromiseLike<T>, options: RunUntilOptions = {}): Promise<T> {
    checkMembers('the options of runUntil', options, ['maxSeconds'])
    const { maxSeconds = 3600 } = options
    checkNumber('maxSeconds', maxSeconds, 0, yearMs / 1000)
    const outcome = watch(promise)
    const endMs = time.nowMs + maxSeconds * 1000
    const late = `The promise is still open after ${maxSeconds} s of the test clock`
    await moved(time, { endMs, isExact: false, isDone: () => outcome.settled }, late)
    return promise
  }

  return {
    now: () => time.nowMs,
    get pending() {
      return time.timers.size
    },
    setTimeout(run, ms) {
      if (!(ms <= longestTimerMs)) {
        // The machine's clock would fire at once here; a test should tell, not hide it.
        throw new RangeError(expected('the milliseconds of a timer', `at most ${longestTimerMs}`, ms))
      }
      return time.timers.add(time.nowMs + Math.max(1, ms), run)
    },
    clearTimeout: (handle) => {
      time.timers.remove(handle)
    },
    advance,
    runUntil,
  }
}

function moved(time: Time, aim: Pick<Movement, 'endMs' | 'isExact' | 'isDone'>, late = ''): Promise<void> {
  return new Promise((resolve, reject) => {
    time.move({ ...aim, end: resolve, fail: reject, tooFar: () => new Error(late) })
  })
}

function watch(promise: PromiseLike<unknown>): { readonly settled: boolean } {
  const outcome = { settled: false }
  const settle = (): void => {
    outcome.settled = true
  }
  promise.then(settle, settle)
  return outcome
}
