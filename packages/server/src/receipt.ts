import type { Reading } from './algorithm/meter.js'
import type { Policy } from './policy.js'
import type { Change, Charge } from './store.js'

/** What an admission charged, kept so that it can be given back: once, and only as much. */
export interface Receipt {
  readonly charges: readonly Charge[]
  /** Where each charge was made. */
  readonly marks: readonly number[]
  readonly lease: string
  /** Units of each charge that have not been given back. */
  left: number[]
  closed: boolean
}

export function receiptOf(
  charges: readonly Charge[],
  readings: readonly Reading[],
  nowUs: number,
  lease: string,
): Receipt {
  return {
    charges,
    marks: charges.map(({ policy }, i) => markOf(policy, readings[i] ?? [], nowUs)),
    lease,
    left: charges.map(({ cost }) => cost),
    closed: false,
  }
}

/** Where a charge was made, so that it is not taken out of another window. */
function markOf({ algorithm }: Policy, reading: Reading, nowUs: number): number {
  if (algorithm === 'fixed-window') return reading[1] ?? 0
  if (algorithm === 'sliding-window-counter') return reading[2] ?? 0
  return algorithm === 'sliding-window-log' ? nowUs : 0
}

/** Changes that bring the charges of a receipt to other costs; of policies whose charge stays, none. */
export function changesTo(receipt: Receipt, costs: readonly number[]): Change[] {
  const changes: Change[] = []
  for (const [i, { policy, owner }] of receipt.charges.entries()) {
    const units = (costs[i] ?? 0) - (receipt.left[i] ?? 0)
    if (units !== 0 && policy.algorithm !== 'concurrency')
      changes.push({ policy, owner, units, mark: receipt.marks[i] ?? 0 })
  }
  return changes
}

/** The charges of a receipt that hold places. */
export function heldBy(receipt: Receipt): Charge[] {
  return receipt.charges.filter(({ policy, cost }) => policy.algorithm === 'concurrency' && cost > 0)
}
