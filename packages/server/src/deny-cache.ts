import type { Decision, Refused } from './decision.js'
import type { Denial } from './denial.js'
import type { Charge } from './store.js'

/** Who has just been refused, for as long as the store need not be asked again. */
export interface DenyCache<Name extends string> {
  /** The refusal of a caller that still holds; `repeated` answers a call with it. @param caller what `callerOf` says of it */
  find(caller: string | undefined, nowMs: number): Denial<Name> | undefined
  /** Notes what the store said to a call sent at `sentMs`. */
  keep(caller: string | undefined, charges: readonly Charge[], decision: Decision<Name>, sentMs: number): void
  clear(): void
}

const MOST_KEPT = 10_000

/**
 * A refusal is repeated until the instant before which the passing of time alone cannot free enough, but no longer
 * than `maxSeconds`: for so long, what is given back elsewhere may go unnoticed. Where calls are held the time passes
 * sooner, by as long as a call may be.
 */
export function createDenyCache<Name extends string>(maxSeconds: number, holdMs = 0): DenyCache<Name> {
  const denials = new Map<string, Denial<Name>>()
  return {
    find(caller, nowMs) {
      if (caller === undefined || denials.size === 0) return undefined
      const denial = denials.get(caller)
      if (denial === undefined || denial.untilMs > nowMs) return denial
      denials.delete(caller)
      return undefined
    },
    keep(caller, charges, decision, sentMs) {
      if (caller === undefined || decision.outcome !== 'refused') return
      if (waitsForPlaces(charges, decision)) return
      const fitsMs = sentMs + decision.retryAfterSeconds * 1000
      const untilMs = Math.min(fitsMs - holdMs, sentMs + maxSeconds * 1000)
      denials.delete(caller)
      if (untilMs <= sentMs) return
      const [oldest] = denials.keys()
      if (denials.size >= MOST_KEPT && oldest !== undefined) denials.delete(oldest)
      denials.set(caller, { charges, decision, fitsMs, untilMs, offences: undefined, said: undefined })
    },
    clear: () => denials.clear(),
  }
}

/** When a place is free is not a matter of time. */
function waitsForPlaces(charges: readonly Charge[], { limits }: Refused): boolean {
  return limits.some((limit, i) => !limit.allowed && charges[i]?.policy.algorithm === 'concurrency')
}
