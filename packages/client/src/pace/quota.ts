import type { QuotaPolicy, Refill } from '@ratepact/contract'

/** What a policy promises, in the units the engine counts in. What was not stated is Infinity, its rate 0. */
export interface Quota {
  readonly units: number
  readonly windowMs: number
  /** Units per millisecond that come back: the stated rate, else quota over window. */
  readonly ratePerMs: number
  readonly refill?: Refill
}

/** Nothing stated: only answers tell what may be used. */
export const unstated: Quota = {
  units: Number.POSITIVE_INFINITY,
  windowMs: Number.POSITIVE_INFINITY,
  ratePerMs: 0,
}

/** Reads a policy; numbers that make no sense count as not stated. */
export function quotaOf(policy: QuotaPolicy): Quota {
  const units = policy.quota >= 0 ? policy.quota : unstated.units
  const seconds = policy.windowSeconds
  const windowMs = seconds !== undefined && seconds > 0 ? seconds * 1000 : unstated.windowMs
  const rate = policy.ratePerSecond
  const known = units < Number.POSITIVE_INFINITY && windowMs < Number.POSITIVE_INFINITY
  const implied = known ? units / windowMs : 0
  const ratePerMs = rate !== undefined && rate > 0 && rate < Number.POSITIVE_INFINITY ? rate / 1000 : implied
  return { units, windowMs, ratePerMs, ...(policy.refill === undefined ? {} : { refill: policy.refill }) }
}
