import { checkInteger, expected, largestInteger } from './check.js'
import type { Refill } from './limits.js'

/**
 * Parameters of our own beside the draft's, which other readers skip: unknown parameters are comments
 * to them (draft-11 sections 3.1 and 4.1). One that is wrong is skipped alone.
 */
export const hintKeys = {
  refill: 'ratepact-refill',
  ratePerSecond: 'ratepact-rate',
  effectiveWindowMs: 'ratepact-t-ms',
  instances: 'ratepact-n',
} as const

const refills: readonly unknown[] = ['bucket', 'window', 'log', 'counter'] satisfies Refill[]

/** Digits that a Decimal may have before its point (RFC 9651 section 3.3.2). */
const largestRate = 999_999_999_999

export function isRefill(value: unknown): value is Refill {
  return refills.includes(value)
}

export function isRate(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}

export function checkRefill(where: string, value: unknown): Refill {
  if (!isRefill(value)) throw new TypeError(expected(where, `one of ${refills.join(', ')}`, value))
  return value
}

/** Floors to the three decimals that a Decimal has: a rate may be understated, never overstated. */
export function checkRate(where: string, value: unknown): number {
  const rule = `a number from 0.001 to ${largestRate}`
  if (typeof value !== 'number') throw new TypeError(expected(where, rule, value))
  if (!(value >= 0.001 && value <= largestRate)) throw new RangeError(expected(where, rule, value))
  if (Number.isInteger(value)) return value
  // The product may be rounded either way: 1.001 * 1000 is just under 1001.
  const thousandths = Math.round(value * 1000)
  return (thousandths / 1000 > value ? thousandths - 1 : thousandths) / 1000
}

export function checkWindowMs(where: string, value: unknown, windowSeconds: number | undefined): number {
  if (windowSeconds === undefined) {
    throw new TypeError(expected(where, 'given only together with effectiveWindowSeconds', value))
  }
  return checkInteger(where, value, 0, Math.min(windowSeconds * 1000, largestInteger))
}
