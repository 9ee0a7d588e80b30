import type { Reading } from '../algorithm/meter.js'
import type { Admitted } from '../decision.js'
import { decisionOf } from '../judge.js'
import { NONE } from '../list.js'
import { Receipt } from '../receipt.js'
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
  nowMs: number,
  scopeKeys: (scope: string) => Uint8Array,
): Answer | undefined {
  const leased = leases.find(charges, charged, nowMs)
  if (leased === undefined) return undefined
  const { readings, instants, taken } = leased
  const [nowUs = 0] = instants
  const reply = { admitted: true, readings, nowUs, instants, blockedUs: 0, replayed: false, healed: [] }
  const decision = decisionOf(charges, reply, charged, NONE, scopeKeys, 'lease') as Admitted
  if (!charged) return { decision }
  const own = { nowUs, instants, readings: emptyReadings(charges, readings) }
  return { decision, receipt: new Receipt(charges, own, '', taken) }
}

const EMPTY: Reading = [0]

/**
 * What was read of buckets as if they had been empty before the call: what is held by others counts as in use but does
 * not flow back, so that of a charge only what it would leave of an empty bucket is sure to be there still.
 */
export function emptyReadings(charges: readonly Charge[], readings: readonly Reading[]): readonly Reading[] {
  return readings.map((reading, i) => (charges[i]?.policy.algorithm === 'token-bucket' ? EMPTY : reading))
}
