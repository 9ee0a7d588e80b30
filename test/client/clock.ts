import type { Clock } from '@ratepact/client'

/** A clock that stands still until the test moves it. */
export interface HandClock extends Clock {
  /** Timers that are set: 0 when nobody left one behind. */
  readonly pending: number
  /** Moves time on, running each timer at its instant and letting promises settle after each. */
  advance(ms: number): Promise<void>
  /** Moves time from timer to timer until the promise settles. */
  runUntil<T>(promise: Promise<T>): Promise<T>
}

export function handClock(): HandClock {
  const timers = new Map<number, { atMs: number; run: () => void }>()
  let nowMs = 0
  let last = 0

  const first = (): [number, { atMs: number; run: () => void }] | undefined =>
    [...timers].sort(([, a], [, b]) => a.atMs - b.atMs)[0]

  async function runFirstBefore(endMs: number): Promise<boolean> {
    const next = first()
    if (next === undefined || next[1].atMs > endMs) return false
    timers.delete(next[0])
    nowMs = Math.max(nowMs, next[1].atMs)
    next[1].run()
    await settle()
    return true
  }

  return {
    now: () => nowMs,
    get pending() {
      return timers.size
    },
    setTimeout(run: () => void, ms: number): number {
      if (!(ms <= 2 ** 31 - 1)) throw new RangeError(`A timer of ${ms} ms would fire at once`)
      last += 1
      timers.set(last, { atMs: nowMs + Math.max(1, ms), run })
      return last
    },
    clearTimeout(handle: unknown): void {
      timers.delete(handle as number)
    },
    async advance(ms: number): Promise<void> {
      const endMs = nowMs + ms
      await settle()
      while (await runFirstBefore(endMs));
      nowMs = endMs
      await settle()
    },
    async runUntil<T>(promise: Promise<T>): Promise<T> {
      let open = true
      const close = (): void => {
        open = false
      }
      promise.then(close, close)
      await settle()
      while (open && (await runFirstBefore(Number.POSITIVE_INFINITY)));
      if (open) throw new Error('No timer is left, and the promise is still open')
      return promise
    },
  }
}

/** Lets everything that needs no time happen. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
