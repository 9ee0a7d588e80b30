import type { Clock } from '@ratepact/contract'
import type { LimiterEvent } from '../events.js'
import type { StoreError } from './store-error.js'

const EVERY_MS = 1000

/** Tells when decisions begin to be made without the store, how many, and when it answers again. */
export interface Watch {
  failed(error: StoreError, mode: 'open' | 'closed'): void
  answered(): void
}

/** Events are limited to one a second, so that an outage does not flood a log. */
export function createWatch(clock: Clock, emit: (event: LimiterEvent) => void): Watch {
  let sinceMs: number | undefined
  let toldMs = 0
  let calls = 0
  return {
    failed(error, mode) {
      const now = clock.now()
      calls += 1
      if (sinceMs !== undefined && now - toldMs < EVERY_MS) return
      sinceMs ??= now
      toldMs = now
      emit({ type: 'degraded', mode, reason: error.reason, calls, error })
      calls = 0
    },
    answered() {
      if (sinceMs === undefined) return
      const afterMs = clock.now() - sinceMs
      sinceMs = undefined
      calls = 0
      emit({ type: 'recovered', afterMs })
    },
  }
}
