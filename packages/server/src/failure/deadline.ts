import type { Clock } from '@ratepact/contract'
import { StoreError } from './store-error.js'

interface Waiting {
  readonly dueMs: number
  readonly expire: () => void
}

/** Bounds promises by one duration. All of them share one timer, and none is left when nobody waits. */
export interface Deadline {
  race<T>(promise: Promise<T>): Promise<T>
}

/**
 * A promise that settles first wins, also when it settles in the same turn as the deadline: a busy process
 * runs its timers before it reads its sockets, so an overdue call gets one more look at them.
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

  function wake(): void {
    const now = clock.now()
    timer = clock.setTimeout(() => {
      timer = undefined
      for (const entry of waiting) {
        if (entry.dueMs > now) break
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
    race: <T>(promise: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const entry: Waiting = {
          dueMs: clock.now() + timeoutMs,
          expire: () => reject(new StoreError('timeout', `The store did not answer within ${timeoutMs} ms`)),
        }
        waiting.add(entry)
        if (timer === undefined) arm()
        promise.then(
          (value) => {
            leave(entry)
            resolve(value)
          },
          (error: unknown) => {
            leave(entry)
            reject(error)
          },
        )
      }),
  }
}
