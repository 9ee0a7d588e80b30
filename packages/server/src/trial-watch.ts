import type { Clock } from '@ratepact/contract'
import type { Decision } from './decision.js'
import type { LimiterEvent } from './events.js'

const EVERY_MS = 1000

/** Tells of calls that a shadow or a candidate would have refused. */
export interface TrialWatch {
  decided(decision: Decision): void
}

interface Told {
  atMs: number
  calls: number
  passed: number
}

/** Events are limited to one a second for each shadow and for the candidate, and count what came in between. */
export function createTrialWatch(clock: Clock, emit: (event: LimiterEvent) => void): TrialWatch {
  // As many entries as there are shadows, and one.
  const told = new Map<string, Told>()
  return {
    decided(decision) {
      // A repeated admission is no further call.
      if (decision.outcome === 'admitted' && decision.replayed) return
      const { shadow, allowed, plan } = decision
      for (const { group, policy, allowed: fits, violated } of shadow) {
        if (fits) continue
        const key = policy ?? ''
        const now = clock.now()
        const last = told.get(key) ?? { atMs: Number.NEGATIVE_INFINITY, calls: 0, passed: 0 }
        told.set(key, last)
        last.calls += 1
        if (allowed) last.passed += 1
        if (now - last.atMs < EVERY_MS) continue
        const { calls, passed } = last
        Object.assign(last, { atMs: now, calls: 0, passed: 0 })
        const about = { ...(policy !== undefined && { policy }), ...(plan !== undefined && { plan }) }
        emit({ type: 'shadow-refused', group, ...about, violated, calls, passed })
      }
    },
  }
}
