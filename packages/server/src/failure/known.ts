import { bucketWith } from '../algorithm/bucket.js'
import { windowWith } from '../algorithm/fixed-window-count.js'
import type { Reading } from '../algorithm/meter.js'
import { counterWith } from '../algorithm/sliding-counter-count.js'
import { addToLog, type Log } from '../algorithm/sliding-log-record.js'
import { type State, shareOf } from '../memory/ledger.js'
import type { Policy } from '../policy.js'
import type { Change } from '../store.js'
import { unitsLeft } from './debts.js'

/** What the store said last of a bucket. */
export interface Known {
  readonly policy: Policy
  readonly reading: Reading
  /** Units taken since the reading, by the call it was made for and by what changed such calls. */
  readonly taken: number
  /** By the store's clock. */
  readonly nowUs: number
  /** Whether the store had not been told then of all that this process granted without it. */
  readonly owed: boolean
}

/** What is known once a charge was made larger or smaller, where the reading is of the window that it was made in. */
export function changedBy(known: Known, change: Change, nowUs: number): Known {
  const { policy, reading, taken } = known
  if (policy.algorithm === 'fixed-window' && reading[1] !== change.mark) return known
  if (policy.algorithm === 'sliding-window-counter' && reading[2] !== change.mark) return known
  return { ...known, taken: taken + unitsLeft(change, nowUs) }
}

/** A share in which the same part is in use as in the whole when it was last seen; undefined where that is none. */
export function shareState(known: Known, share: Policy, nowUs: number): State | undefined {
  const { policy, taken } = known
  const [first = 0, second = 0, third = 0] = known.reading
  const part = (units: number) => Math.ceil((Math.max(0, units) / policy.quota) * share.quota)
  switch (share.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket': {
      if (!('ticks' in policy)) return undefined
      const { unit, rate } = policy.ticks
      const level = first + taken * unit - Math.max(0, nowUs - known.nowUs) * rate
      if (level <= 0) return undefined
      const used = Math.ceil((level / (policy.quota * unit)) * share.quota * share.ticks.unit)
      return bucketWith(used, nowUs, share)
    }
    case 'fixed-window':
      if (second <= nowUs) return undefined
      return windowWith(part(first + taken), second, 0, share)
    case 'sliding-window-counter':
      return counterWith([part(first + taken), part(second), third], share)
    case 'sliding-window-log': {
      const used = part(first + taken)
      if (used === 0 || known.nowUs + share.windowUs <= nowUs) return undefined
      // When each of the calls was made is not known: they count from when they were last seen.
      const log: Log = { calls: [], first: 0, used: 0 }
      addToLog(log, used, known.nowUs, share.windowUs)
      return { kind: 'log', log, windowUs: share.windowUs }
    }
    case 'concurrency':
      // Places are known by their leases, which others hold; how many of them end when is not known.
      return undefined
  }
}

/** The part of its quota that a bucket has in use, as far as is known. */
export function usedPart(known: Known, nowUs: number): number {
  const state = shareState(known, known.policy, nowUs)
  return state === undefined ? 0 : shareOf(state, nowUs, known.policy)
}
