import { availableAt, fits, waitUs } from './algorithm/bucket.js'
import type { Limit } from './decision.js'
import type { Policy } from './policy.js'

/** Seconds in which an empty bucket fills, rounded up to what the wire can say: `w`, at least 1. */
export function windowSecondsOf(policy: Policy): number {
  // A quotient such as 100 / 0.1 may come out a hair above the whole number that it is.
  return Math.max(1, Math.ceil(policy.capacity / policy.refillPerSecond - 1e-9))
}

/**
 * What a policy states after a decision. `t`: while units are left, the time in which so many come back at the
 * policy's rate, so that available over effective window never promises more than the policy; with none left,
 * or when this policy refused, the wait until this cost fits.
 */
export function limitOf<Name extends string>(
  policy: Policy<Name>,
  level: number,
  cost: number,
  charged: boolean,
  partitionKey: Uint8Array | undefined,
): Limit<Name> {
  const allowed = fits(level, cost, policy)
  const after = charged ? level + cost * policy.ticks.unit : level
  const available = availableAt(after, policy)
  const quota = policy.capacity
  const windowSeconds = windowSecondsOf(policy)
  const waits = !allowed || available === 0
  // A call of no cost asks nothing; the wait that it is told is that of one unit.
  const effectiveMs = waits
    ? waitUs(after, Math.max(1, cost), policy) / 1000
    : (available / policy.refillPerSecond) * 1000
  const effectiveWindowSeconds = Math.max(
    1,
    waits ? Math.ceil(effectiveMs / 1000) : Math.ceil((available * windowSeconds) / quota),
  )
  return {
    policy: policy.name,
    quota,
    windowSeconds,
    unit: policy.unit,
    cost,
    available,
    effectiveWindowSeconds,
    effectiveWindowMs: Math.min(Math.ceil(effectiveMs), effectiveWindowSeconds * 1000),
    ...(partitionKey === undefined ? undefined : { partitionKey }),
    allowed,
  }
}
