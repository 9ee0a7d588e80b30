import type { Admitted, Limit, Refused } from '../decision.js'

/** The refusal of a call that found its places, but in some queue too far behind; what it was charged is given back. */
export function refusedForDelay(decision: Admitted, mostSeconds: number): Refused {
  const limits = decision.limits.map((limit) => refusedBy(limit, mostSeconds))
  return {
    outcome: 'refused',
    allowed: false,
    ...(decision.plan === undefined ? undefined : { plan: decision.plan }),
    limits,
    violated: limits.filter(({ allowed }) => !allowed).map(({ policy }) => policy),
    retryAfterSeconds: decision.delaySeconds - mostSeconds,
    source: decision.source,
    shadow: decision.shadow,
  }
}

/** A policy that refuses states its own wait; one that does not is left as it is. */
function refusedBy(limit: Limit, mostSeconds: number): Limit {
  const waitSeconds = (limit.delaySeconds ?? 0) - mostSeconds
  if (waitSeconds <= 0) return limit
  // Counted from whole microseconds: the difference of two doubles may be a hair above what it means.
  const ms = Math.ceil(Math.round(waitSeconds * 1e6) / 1000)
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  return { ...limit, allowed: false, effectiveWindowSeconds: seconds, effectiveWindowMs: ms }
}
