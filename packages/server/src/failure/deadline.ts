import type { Clock } from '@ratepact/contract'
import { StoreError } from './store-error.js'

/** A class, since there is one for each call: see `listOf`. */
class Waiting {
  dueMs: number
  /** Whether it has been put off because this process stood still. */
  putOff = false
  readonly expire: () => void

  constructor(dueMs: number, expire: () => void) {
    this.dueMs = dueMs
    this.expire = expire
  }
}

/** A timer that is so late shows that the process stood still, not that nobody answered. */
const LATE_MS = 10

/** Bounds promises by one duration. All of them share one timer, and none is left when nobody waits. */
export interface Deadline {
  /**
   * @param read what to make of the value: what it throws is a rejection
   * @param blame what to reject with for what went wrong
   */
  race<T, R>(promise: Promise<T>, read: (value: T) => R, blame?: (error: unknown) => unknown): Promise<R>
}

/**
 * A promise that settles first wins, also when it settles in the same turn as the deadline: a busy process runs its
 * timers before it reads its sockets, so an overdue call gets one more look at them. A process that stood still while
 * it should have waited gives its calls their time anew, once: what it did not do is no fault of the one that it asked.
 * So a call waits for at most two durations, besides the time in which the process does nothing at all.
 */
export function createDeadline(clock: Clock, timeoutMs: number): Deadline {
  // All wait equally long, so the order in which they came is the order in which they are due.
  const waiting = new Set<Waiting>()
  let timer: unknown

  function arm(): void {
    const [first] = waiting
    if (first === undefined) return
    timer = clock.setTimeout(wake, Math.max(0, first.dueMs - clock.now()))
  }

  /** Puts off calls that had no chance. All wait equally long again, so their order stays. */
  function putOff(now: number): void {
    for (const entry of waiting)
      if (!entry.putOff) {
        entry.putOff = true
        entry.dueMs = now + timeoutMs
      }
  }

  function wake(): void {
    const now = clock.now()
    const [first] = waiting
    if (first !== undefined && now - first.dueMs > LATE_MS) putOff(now)
    timer = clock.setTimeout(() => {
      timer = undefined
      for (const entry of waiting) {
        if (entry.dueMs > now) continue
        waiting.delete(entry)
        entry.expire()
      }
      arm()
    }, 0)
  }

  /** Whether it was still waited for. */
  function leave(entry: Waiting): boolean {
    if (!waiting.delete(entry)) return false
    if (waiting.size > 0 || timer === undefined) return true
    clock.clearTimeout(timer)
    timer = undefined
    return true
  }

  return {
    race: <T, R>(promise: Promise<T>, read: (value: T) => R, blame = same) =>
      new Promise<R>((resolve, reject) => {
        const entry = new Waiting(clock.now() + timeoutMs, () =>
          reject(blame(new StoreError('timeout', `The store did not answer within ${timeoutMs} ms`))),
        )
        waiting.add(entry)
        if (timer === undefined) arm()
        promise.then(
          (value) => {
            if (!leave(entry)) return
            try {
              resolve(read(value))
            } catch (error) {
              reject(blame(error))
            }
          },
          (error: unknown) => {
            // What has expired already has been told.
            if (leave(entry)) reject(blame(error))
          },
        )
      }),
  }
}

function same(error: unknown): unknown {
  return error
}
