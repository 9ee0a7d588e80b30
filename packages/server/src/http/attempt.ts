import type { Admitted } from '../decision.js'
import type { Limiter } from '../limiter.js'
import { textOf } from './error.js'
import type { Warn } from './warn.js'

/** Does something with an admission, of whose end nobody waits to hear. Never rejects. */
export type Attempt = (effect: 'refund' | 'release' | 'renew', decision: Admitted) => Promise<void>

/** A limiter of the user's making may fail in any way. */
export function createAttempt(adapter: string, limiter: Limiter, warn: Warn): Attempt {
  return async (effect, decision) => {
    try {
      await limiter[effect](decision)
    } catch (error) {
      warn(effect, `${adapter}: ${effect} of the limiter failed: ${textOf(error)}`)
    }
  }
}
