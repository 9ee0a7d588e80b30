import { allAt, bucketWithAll, levelAt, roomOf } from '../algorithm/bucket.js'
import { inUseAfter, mostInUse } from '../algorithm/debt.js'
import { windowAt, windowWith } from '../algorithm/fixed-window-count.js'
import { counterEnd, counterWith, countsAt } from '../algorithm/sliding-counter-count.js'
import { adjustLog } from '../algorithm/sliding-log-record.js'
import type { Change } from '../store.js'
import type { State } from './ledger.js'

/** The state with a change made; undefined where the charge does not count any more, or nothing would change. */
export function adjustState(state: State | undefined, change: Change, nowUs: number): State | undefined {
  const { policy, units, mark, top } = change
  if (policy.algorithm === 'concurrency') return undefined
  const count = state?.kind === 'count' ? state : undefined
  const most = mostInUse(policy.quota, policy.maxDebt)
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket': {
      const level = levelAt(count, nowUs, policy)
      const { unit, rate } = policy.ticks
      const [room, debt] = [roomOf(policy), policy.maxDebt * unit]
      // Of what was charged, the ticks that have flowed back since cannot be given back.
      const there = Math.max(0, top - Math.max(0, nowUs - mark) * rate)
      // What is given back is that of all which is in use, also of what larger numbers granted.
      const all = allAt(count, nowUs, policy)
      const change = Math.max(units * unit, -there)
      const allAfter = inUseAfter(all, change, mostInUse(room, debt))
      const after = change > 0 ? inUseAfter(level, change, mostInUse(room, debt)) : Math.min(level, allAfter)
      if (after === level && allAfter === all) return undefined
      return bucketWithAll(after, allAfter, nowUs, policy)
    }
    case 'fixed-window': {
      const [used, endUs, held] = windowAt(count, nowUs, policy)
      // A call that is held is charged to the window that comes.
      const ahead = mark === endUs + policy.windowUs
      if (!ahead && mark !== endUs) return undefined
      const before = ahead ? held : used
      const after = inUseAfter(before, units, most)
      if (after === before) return undefined
      return ahead ? windowWith(used, endUs, after, policy) : windowWith(after, endUs, held, policy)
    }
    case 'sliding-window-counter': {
      const [current, previous, startUs] = countsAt(count, nowUs, policy)
      const now = startUs === mark
      if (!now && startUs - policy.windowUs !== mark) return undefined
      const before = now ? current : previous
      const after = inUseAfter(before, units, most)
      if (after === before) return undefined
      const counts = now ? ([after, previous, startUs] as const) : ([current, after, startUs] as const)
      // What is only given back lasts for no longer than it had.
      const endUs = units < 0 ? counterEnd(count, nowUs, policy) : undefined
      return counterWith(counts, policy, endUs)
    }
    case 'sliding-window-log':
      if (state?.kind !== 'log') return undefined
      return adjustLog(state.log, units, mark, most, nowUs, policy.windowUs) ? state : undefined
  }
}
