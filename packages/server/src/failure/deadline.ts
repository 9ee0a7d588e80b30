import type { Clock } from '@ratepact/contract'
import { StoreError } from './store-error.js'

interface Waiting {
  dueMs: number
  /** How often it has been put off because this process stood still. */
  delays: number
  readonly expire: () => void
}

/** A timer that is so late shows that the process stood still, not that nobody answered. */
const LATE_MS = 10
/** So often at most is a call put off, lest a process that is always late waits for ever. */
const MOST_DELAYS = 10

/** Bounds promises by one duration. All of them share one timer, and none is left when nobody waits. */
export interface Deadline {
  /** @param read what to make of the value: what it throws is a rejection */
  race<T, R>(promise: Promise<T>, read: (value: T) => R): Promise<R>
}

/**
 * A promise that settles first wins, also when it settles in the same turn as the deadline: a busy process runs its
 * timers before it reads its sockets, so an overdue call gets one more look at them. A process that stood still while
 * it should have waited gives its calls their time anew: what it did not do is no fault of the one that it asked.
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
      if (entry.delays < MOST_DELAYS) {
        entry.delays += 1
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

  function leave(entry: Waiting): void {
    if (!waiting.delete(entry) || waiting.size > 0 || timer === undefined) return
    clock.clearTimeout(timer)
    timer = undefined
  }

  return {
    race: <T, R>(promise: Promise<T>, read: (value: T) => R) =>
      new Promise<R>((resolve, reject) => {
        const entry: Waiting = {
          dueMs: clock.now() + timeoutMs,
          delays: 0,
          expire: () => reject(new StoreError('timeout', `The store did not answer within ${timeoutMs} ms`)),
        }
        waiting.add(entry)
        if (timer === undefined) arm()
        promise.then(
          (value) => {
            leave(entry)
            try {
              resolve(read(value))
            } catch (error) {
              reject(error)
            }
          },
          (error: unknown) => {
            leave(entry)
            reject(error)
          },
        )
      }),
  }
}
