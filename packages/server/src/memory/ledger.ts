import { bucketWith, type Count, isDated, levelAt, renewed } from '../algorithm/bucket.js'
import { dropEnded, type Leases, leasesTaken } from '../algorithm/concurrency-leases.js'
import {
  aheadMost,
  isDatedWindow,
  windowAfter,
  windowAt,
  windowWith,
} from '../algorithm/fixed-window-count.js'
import type { Reading } from '../algorithm/meter.js'
import { counterEstimate, counterWith, countsAt, isDatedCounter } from '../algorithm/sliding-counter-count.js'
import { addToLog, type Log, readLog, settleLog } from '../algorithm/sliding-log-record.js'
import type { Policy } from '../policy.js'
import type { BucketOwner } from '../store.js'

/** Whose bucket it is. */
export interface Holder {
  readonly policy: Policy
  readonly owner: BucketOwner
}

/** What memory keeps of one bucket. */
export type State =
  | { readonly kind: 'count'; readonly count: Count }
  | { readonly kind: 'log'; readonly log: Log; readonly windowUs: number }
  | { readonly kind: 'leases'; readonly leases: Leases }

/** What a policy reads now; first lets go of what has passed. */
export function readState(state: State | undefined, cost: number, nowUs: number, policy: Policy): Reading {
  const count = state?.kind === 'count' ? state.count : undefined
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket':
      return [levelAt(count, nowUs, policy)]
    case 'fixed-window': {
      const [used, endUs, held] = windowAt(count, nowUs, policy)
      return [used, endUs, aheadMost(endUs - nowUs, policy) - held]
    }
    case 'sliding-window-counter': {
      const [current, previous, startUs] = countsAt(count, nowUs, policy)
      return [
        current,
        previous,
        startUs,
        counterEstimate(current, previous, nowUs - startUs, policy.windowUs),
      ]
    }
    case 'sliding-window-log':
      if (state?.kind === 'log') settleLog(state.log, nowUs)
      return readLog(state?.kind === 'log' ? state.log : emptyLog(), cost, nowUs, policy)
    case 'concurrency':
      return [state?.kind === 'leases' ? leasesTaken(state.leases, nowUs, policy) : 0]
  }
}

/** Whether a state was kept under other numbers or another clock, and must be written even if nothing is taken. */
export function isStale(state: State | undefined, nowUs: number, policy: Policy): boolean {
  if (state?.kind !== 'count') return false
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket':
      return isDated(state.count, nowUs, policy)
    case 'fixed-window':
      return isDatedWindow(state.count, nowUs, policy)
    case 'sliding-window-counter':
      return isDatedCounter(state.count, nowUs, policy)
    default:
      return false
  }
}

/** The state after `cost` was taken from what was read. Logs and leases change in place. */
export function takeFrom(
  state: State | undefined,
  reading: Reading,
  cost: number,
  nowUs: number,
  policy: Policy,
  lease: string,
): State {
  const [first = 0, second = 0, third = 0] = reading
  const count = state?.kind === 'count' ? state.count : undefined
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket': {
      if (cost === 0 && count !== undefined) return { kind: 'count', count: renewed(count, nowUs, policy) }
      return { kind: 'count', count: bucketWith(first + cost * policy.ticks.unit, nowUs, policy) }
    }
    case 'fixed-window':
      return {
        kind: 'count',
        count: windowWith(windowAfter(windowAt(count, nowUs, policy), cost, policy), policy),
      }
    case 'sliding-window-counter':
      // What is only handed on counts for no longer than it had.
      return {
        kind: 'count',
        count: counterWith([first + cost, second, third], policy, cost === 0 ? count?.untilUs : undefined),
      }
    case 'sliding-window-log': {
      const log = state?.kind === 'log' ? state.log : emptyLog()
      addToLog(log, cost, nowUs, policy.windowUs)
      return { kind: 'log', log, windowUs: policy.windowUs }
    }
    case 'concurrency': {
      const leases: Leases = state?.kind === 'leases' ? state.leases : new Map()
      dropEnded(leases, nowUs)
      const { leaseUs } = policy
      for (let place = 1; place <= cost; place += 1)
        leases.set(`${lease}:${place}`, { endUs: nowUs + leaseUs, leaseUs })
      return { kind: 'leases', leases }
    }
  }
}

function emptyLog(): Log {
  return { calls: [], first: 0, used: 0 }
}

/** From when on a state says nothing (µs). */
export function endOf(state: State): number {
  if (state.kind === 'count') return state.count.untilUs
  if (state.kind === 'log') return (state.log.calls.at(-1)?.atUs ?? 0) + state.windowUs
  return Math.max(0, ...[...state.leases.values()].map(({ endUs }) => endUs))
}

/** The share of its quota that a state has in use: what is worth the most is forgotten last, leases never. */
export function shareOf(state: State, nowUs: number, policy: Policy): number {
  if (state.kind === 'leases') return Number.POSITIVE_INFINITY
  const [used = 0] = readState(state, 1, nowUs, policy)
  return used / (policy.quota * ('ticks' in policy ? policy.ticks.unit : 1))
}
