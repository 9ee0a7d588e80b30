import { expectInteger } from '../expect.js'

/** What a policy that can run up a debt has to say of it. */
export interface Debt {
  /** Units that may be in use beyond the quota, by what is taken after the fact. */
  readonly maxDebt: number
}

/** Checks a debt; one quota where nothing is said. */
export function debtOf(name: string, quota: number, maxDebt: number = quota): number {
  expectInteger(`maxDebt of policy "${name}"`, maxDebt, 0, 1e12)
  return maxDebt
}

/** What is kept counts exactly in a double. */
export const LARGEST: number = 2 ** 52

/** The most that may be in use by what is taken after the fact. @param room what calls may take */
export function mostInUse(room: number, debt: number): number {
  return Math.min(room + debt, LARGEST)
}

/** What is in use after a change: what is taken goes no further than the most, what is given back no lower than 0. */
export function inUseAfter(used: number, change: number, most: number): number {
  return change > 0 ? Math.max(used, Math.min(used + change, most)) : Math.max(0, used + change)
}
