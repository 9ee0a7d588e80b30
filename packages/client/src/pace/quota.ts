import type { QuotaPolicy, Refill } from '@ratepact/contract'

/** No time, no bound, not stated. */
export const never: number = Number.POSITIVE_INFINITY

/** What a policy promises, in the units the engine counts in. What was not stated is Infinity, its rate 0. */
export interface Quota {
  readonly units: number
  readonly windowMs: number
  /** Units per millisecond that come back: the stated rate, else quota over window. */
  readonly ratePerMs: number
  readonly refill?: Refill
}

/** Nothing stated: only answers tell what may be used. */
export const unstated: Quota = { units: never, windowMs: never, ratePerMs: 0 }

/** Reads a policy; numbers that make no sense count as not stated. */
export function quotaOf({ quota, windowSeconds, ratePerSecond, refill }: QuotaPolicy): Quota {
  const units = quota >= 0 ? quota : never
  const windowMs = windowSeconds !== undefined && windowSeconds > 0 ? windowSeconds * 1000 : never
  const implied = units < never && windowMs < never ? units / windowMs : 0
  const stated = ratePerSecond !== undefined && ratePerSecond > 0 && ratePerSecond < never
  const ratePerMs = stated ? ratePerSecond / 1000 : implied
  return { units, windowMs, ratePerMs, ...(refill && { refill }) }
}
