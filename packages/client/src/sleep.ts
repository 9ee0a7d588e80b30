import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'
import type { StopSignal } from './stop-signal.js'

/**
 * Waits, or rejects with the reason of the first signal that is aborted. Never ends early, and leaves
 * neither timer nor listener.
 */
export function sleep(ms: number, clock: Clock, signals: readonly StopSignal[]): Promise<void> {
  const untilMs = clock.now() + ms
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      alarm.clear()
      for (const release of releases) release()
      settle()
    }
    const wake = (): void => (clock.now() < untilMs ? alarm.set(untilMs) : end(resolve))
    const alarm = new Alarm(clock, wake)
    const releases = signals.map((signal) => signal.listen(() => end(() => reject(signal.reason))))
    const aborted = signals.find((signal) => signal.aborted)
    if (aborted === undefined) alarm.set(untilMs)
    else end(() => reject(aborted.reason))
  })
}
