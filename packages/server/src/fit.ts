import { meterOf } from './algorithm/algorithms.js'
import type { Reading } from './algorithm/meter.js'
import { NONE } from './list.js'
import type { Charge } from './store.js'

/** Whether all charges from one position up to another fit what was read of them. */
export function doFit(
  charges: readonly Charge[],
  readings: readonly Reading[],
  from: number = 0,
  to: number = charges.length,
): boolean {
  for (let i = from; i < to; i += 1) {
    const { policy, cost } = charges[i] as Charge
    if (!meterOf(policy).fits(readings[i] ?? NONE, cost, policy)) return false
  }
  return true
}
