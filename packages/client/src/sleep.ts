import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'

/**
 * Waits, or rejects with the reason of the first signal that is aborted. Never ends early, and leaves
 * neither timer nor listener.
 */
export function sleep(ms: number, clock: Clock, signals: readonly AbortSignal[]): Promise<void> {
  const untilMs = clock.now() + ms
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      alarm.clear()
      for (const signal of signals) signal.removeEventListener('abort', abort)
      settle()
    }
    const abort = (): void => {
      const aborted = signals.find((signal) => signal.aborted)
      if (aborted !== undefined) end(() => reject(aborted.reason))
    }
    const wake = (): void => (clock.now() < untilMs ? alarm.set(untilMs) : end(resolve))
    const alarm = new Alarm(clock, wake)
    for (const signal of signals) signal.addEventListener('abort', abort, { once: true })
    alarm.set(untilMs)
    abort()
  })
}
