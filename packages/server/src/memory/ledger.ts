import { bucketWith, type Count, type Draft, isDated, levelAt, renewed } from '../algorithm/bucket.js'
import type { ConcurrencyPolicy } from '../algorithm/concurrency.js'
import { dropEnded, type Leases, leasesTaken, Place } from '../algorithm/concurrency-leases.js'
import { isDatedWindow, readWindow, windowAfter } from '../algorithm/fixed-window-count.js'
import type { Reading } from '../algorithm/meter.js'
import { counterWith, isDatedCounter, readCounter } from '../algorithm/sliding-counter-count.js'
import { addToLog, type Log, readLog, settleLog } from '../algorithm/sliding-log-record.js'
import type { SlidingWindowLogPolicy } from '../algorithm/sliding-window-log.js'
import { listOf } from '../list.js'
import type { Policy } from '../policy.js'
import type { BucketOwner } from '../store.js'

/** Whose bucket it is. */
export interface Holder {
  readonly policy: Policy
  readonly owner: BucketOwner
}

/** What memory keeps of one bucket. */
export type State =
  | Count
  | { readonly kind: 'log'; readonly log: Log; readonly windowUs: number }
  | { readonly kind: 'leases'; readonly leases: Leases }

/** What a policy reads now; first lets go of what has passed. */
export function readState(state: State | undefined, cost: number, nowUs: number, policy: Policy): Reading {
  const count = state?.kind === 'count' ? state : undefined
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket':
      return listOf(levelAt(count, nowUs, policy))
    case 'fixed-window':
      return readWindow(count, nowUs, policy)
    case 'sliding-window-counter':
      return readCounter(count, nowUs, policy)
    case 'sliding-window-log':
      if (state?.kind === 'log') settleLog(state.log, nowUs)
      return readLog(state?.kind === 'log' ? state.log : emptyLog(), cost, nowUs, policy)
    case 'concurrency':
      return listOf(state?.kind === 'leases' ? leasesTaken(state.leases, nowUs, policy) : 0)
  }
}

/** Whether a state was kept under other numbers or another clock, and must be written even if nothing is taken. */
export function isStale(state: State | undefined, nowUs: number, policy: Policy): boolean {
  if (state?.kind !== 'count') return false
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket':
      return isDated(state, nowUs, policy)
    case 'fixed-window':
      return isDatedWindow(state, nowUs, policy)
    case 'sliding-window-counter':
      return isDatedCounter(state, nowUs, policy)
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
  into?: Draft,
): State {
  const first = reading[0] ?? 0
  const second = reading[1] ?? 0
  const third = reading[2] ?? 0
  const count = state?.kind === 'count' ? state : undefined
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket': {
      if (cost === 0 && count !== undefined) return renewed(count, nowUs, policy)
      return bucketWith(first + cost * policy.ticks.unit, nowUs, policy, into)
    }
    case 'fixed-window':
      return windowAfter(reading, cost, nowUs, policy, into)
    case 'sliding-window-counter':
      // What is only handed on counts for no longer than it had.
      return counterWith(listOf(first + cost, second, third), policy, cost === 0 ? count?.untilUs : undefined)
    case 'sliding-window-log':
      return takeFromLog(state, cost, nowUs, policy)
    case 'concurrency':
      return takePlaces(state, cost, nowUs, policy, lease)
  }
}

function takeFromLog(
  state: State | undefined,
  cost: number,
  nowUs: number,
  { windowUs }: SlidingWindowLogPolicy,
): State {
  const log = state?.kind === 'log' ? state.log : emptyLog()
  addToLog(log, cost, nowUs, windowUs)
  return state?.kind === 'log' && state.windowUs === windowUs ? state : { kind: 'log', log, windowUs }
}

function takePlaces(
  state: State | undefined,
  cost: number,
  nowUs: number,
  { leaseUs }: ConcurrencyPolicy,
  lease: string,
): State {
  const leases: Leases = state?.kind === 'leases' ? state.leases : new Map()
  dropEnded(leases, nowUs)
  for (let place = 1; place <= cost; place += 1)
    leases.set(`${lease}:${place}`, new Place(nowUs + leaseUs, leaseUs))
  return state?.kind === 'leases' ? state : { kind: 'leases', leases }
}

function emptyLog(): Log {
  return { calls: [], first: 0, used: 0 }
}

/** From when on a state says nothing (µs). */
export function endOf(state: State): number {
  if (state.kind === 'count') return state.untilUs
  if (state.kind === 'log') return (state.log.calls.at(-1)?.atUs ?? 0) + state.windowUs
  return Math.max(0, ...[...state.leases.values()].map(({ endUs }) => endUs))
}

/** The share of its quota that a state has in use: what is worth the most is forgotten last, leases never. */
export function shareOf(state: State, nowUs: number, policy: Policy): number {
  if (state.kind === 'leases') return Number.POSITIVE_INFINITY
  const [used = 0] = readState(state, 1, nowUs, policy)
  return used / (policy.quota * ('ticks' in policy ? policy.ticks.unit : 1))
}
