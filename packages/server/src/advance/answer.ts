import type { Reading } from '../algorithm/meter.js'
import type { Admitted } from '../decision.js'
import { decisionOf } from '../judge.js'
import { type Receipt, receiptOf } from '../receipt.js'
import type { Charge } from '../store.js'
import type { Leases } from './leases.js'

/** An admission out of what this process holds, and what it charged; without a receipt, nothing. */
export interface Answer {
  readonly decision: Admitted
  readonly receipt?: Receipt
}

/** The answer to a call for which this process holds enough; undefined where it does not. */
export function answerFrom(
  leases: Leases,
  charges: readonly Charge[],
  charged: boolean,
  now: () => number,
  scopeKeys: (scope: string) => Uint8Array,
): Answer | undefined {
  const leased = leases.find(charges, charged, now())
  if (leased === undefined) return undefined
  const { readings, nowUs, taken } = leased
  const reply = { admitted: true, readings, nowUs, blockedUs: 0, replayed: false, healed: [] }
  const said = decisionOf(charges, reply, charged, scopeKeys) as Admitted
  const decision: Admitted = { ...said, source: 'lease' }
  if (!charged) return { decision }
  const receipt = receiptOf(charges, { nowUs, readings: emptyReadings(charges, readings) }, '')
  const putBack = (nth: number, units: number): boolean => {
    const from = taken[nth]
    return from?.holding.putBack(units, from.epoch, now()) === true
  }
  return { decision, receipt: { ...receipt, putBack } }
}

/**
 * What was read of buckets as if they had been empty before the call: what is held by others counts as in use but does
 * not flow back, so that of a charge only what it would leave of an empty bucket is sure to be there still.
 */
export function emptyReadings(charges: readonly Charge[], readings: readonly Reading[]): readonly Reading[] {
  return readings.map((reading, i) => (charges[i]?.policy.algorithm === 'token-bucket' ? [0] : reading))
}
