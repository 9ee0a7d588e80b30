import type { Clock } from '@ratepact/contract'

/** Waits on a clock; rejects with the signal's reason when that comes first, and leaves nothing behind. */
export function delay(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    if (ms === 0) return resolve()
    const abort = (): void => {
      clock.clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = clock.setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal.addEventListener('abort', abort, { once: true })
  })
}
