import type { Policy } from '../policy.js'

/**
 * What a store read of one policy, as whole numbers by the store's clock, decayed to now and before any charge.
 * - token and leaky bucket: ticks in use
 * - fixed window: units used, end of the window (µs), the units that may still be taken ahead of the next window;
 *   negative where more are held for it than may be taken now
 * - sliding window counter: units of this window, units of the one before, start of this window (µs), the estimate
 * - sliding window log: units used, when the first of them comes back, when the cost asked for fits, when it would
 *   fit again had it been taken (µs)
 * - concurrency: places taken
 */
export type Reading = readonly number[]

/** Units for which a wait is told: one where nothing is asked for, unless even that is refused, by a debt. */
export function unitsAwaited(cost: number, fits: boolean): number {
  return cost > 0 ? cost : fits ? 1 : 0
}

/** What a policy says, from a reading. A class, since there is one for each policy of each call: see `listOf`. */
export class View {
  /** Units left, never negative. */
  readonly available: number
  /** µs until the cost asked for fits, with no other traffic. 0 = it fits. */
  readonly waitUs: number
  /** µs from now until more units are there, or until as many have come back as are left. Absent where time gives nothing back. */
  readonly windowUs: number | undefined
  /** µs that the call must be held. Absent where the algorithm does not hold. */
  readonly delayUs: number | undefined

  constructor(available: number, waitUs: number, windowUs?: number, delayUs?: number) {
    this.available = available
    this.waitUs = waitUs
    this.windowUs = windowUs
    this.delayUs = delayUs
  }
}

/** The arithmetic of one algorithm, from readings; every store is asked only for those. */
export interface Meter<P extends Policy = Policy> {
  fits(reading: Reading, cost: number, policy: P): boolean
  /**
   * How long (µs) a call that fits must be held until its units are there; 0 = they are. Of policies that may hold.
   * Absent where an algorithm cannot.
   */
  heldUs?(reading: Reading, cost: number, nowUs: number, policy: P): number
  /** @param taken whether the cost has been charged since the reading */
  view(reading: Reading, cost: number, taken: boolean, nowUs: number, policy: P): View
}
