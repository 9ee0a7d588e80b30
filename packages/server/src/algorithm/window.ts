import { expected, expectInteger } from '../expect.js'
import { type Debt, debtOf } from './debt.js'

/** What the policies that count in windows share. */
export interface WindowNumbers extends Debt {
  readonly quota: number
  readonly windowSeconds: number
  readonly windowUs: number
}

/** The numbers as they are given. */
interface WindowOptions {
  readonly quota: number
  readonly windowSeconds: number
  readonly maxDebt?: number
}

const LONGEST_SECONDS = 366 * 86_400

/** Checks a quota, a window and a debt. */
export function windowNumbers(name: string, { quota, windowSeconds, maxDebt }: WindowOptions): WindowNumbers {
  expectInteger(`quota of policy "${name}"`, quota, 1, 1e12)
  if (!(typeof windowSeconds === 'number' && windowSeconds >= 0.001 && windowSeconds <= LONGEST_SECONDS))
    throw new RangeError(
      expected(
        `windowSeconds of policy "${name}"`,
        'a number of seconds from 0.001 to 366 days',
        windowSeconds,
      ),
    )
  // What is stated is whole seconds, at least 1; what is kept is exact to the microsecond.
  return {
    quota,
    windowSeconds: Math.max(1, Math.ceil(windowSeconds - 1e-9)),
    windowUs: Math.round(windowSeconds * 1e6),
    maxDebt: debtOf(name, quota, maxDebt),
  }
}

/** The start of the window of the calendar that an instant is in; instants before the epoch have one too. */
export function startOfWindow(nowUs: number, windowUs: number): number {
  return Math.floor(nowUs / windowUs) * windowUs
}
