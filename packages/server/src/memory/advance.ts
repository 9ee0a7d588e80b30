import { type Advances, advanceBucket } from '../algorithm/advance.js'
import { advanceWindow } from '../algorithm/advance-window.js'
import { allAt, bucketWithAll, levelAt } from '../algorithm/bucket.js'
import { windowAt, windowWith } from '../algorithm/fixed-window-count.js'
import type { Reading } from '../algorithm/meter.js'
import type { Advance } from '../store.js'
import type { State } from './ledger.js'

/** What an advance makes of a bucket and of what is kept beside it, and what is told of it. */
export interface Outcome {
  /** Absent where nothing changes. */
  readonly state?: State
  readonly advances?: Advances | undefined
  /** Until when a process may hold units of it (µs). */
  readonly heldUntilUs: number
  readonly reading: Reading
}

export function advanceState(
  state: State | undefined,
  before: Advances | undefined,
  advance: Advance,
  nowUs: number,
): Outcome {
  const { policy } = advance
  const count = state?.kind === 'count' ? state : undefined
  if (policy.algorithm === 'token-bucket') {
    const { unit } = policy.ticks
    const [was, allWas] = [levelAt(count, nowUs, policy), allAt(count, nowUs, policy)]
    const made = advanceBucket(was, allWas, before, advance, nowUs, policy)
    const { level, all, advances, given, kept, endsUs, lost } = made
    return {
      state: bucketWithAll(level, all, nowUs, policy),
      advances,
      heldUntilUs: advances?.terms.at(-1)?.endsUs ?? 0,
      reading: [given / unit, Math.floor(kept / unit), endsUs, level, lost ? 1 : 0],
    }
  }
  if (policy.algorithm !== 'fixed-window') return { heldUntilUs: 0, reading: [0, 0, 0, 0, 0] }
  const [were, endUs, held] = windowAt(count, nowUs, policy)
  const { used, given, kept, lost } = advanceWindow(were, endUs, advance, policy)
  return {
    ...(used !== were && { state: windowWith(used, endUs, held, policy) }),
    heldUntilUs: given + kept > 0 ? Math.min(endUs, nowUs + advance.lastsUs) : 0,
    reading: [given, kept, endUs, used, lost ? 1 : 0],
  }
}
