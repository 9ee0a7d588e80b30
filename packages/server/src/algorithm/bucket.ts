import type { TokenBucketPolicy } from './token-bucket.js'

/** What is stored of one bucket. All whole numbers; the script in Redis keeps the same five. */
export interface BucketState {
  /** When the bucket is full again, in µs: from then on the state says nothing. */
  readonly untilUs: number
  readonly atUs: number
  /** Ticks in use at `atUs`. */
  readonly used: number
  /** Ticks that a unit was worth when this was written. */
  readonly unit: number
}

/** Debts never exceed the capacity by more than the capacity, however a state came about. */
const MOST_CAPACITIES = 2

/**
 * Ticks in use now. A state written under other numbers keeps the units that were in use, and counts by its own
 * numbers until it is written again.
 */
export function levelAt(state: BucketState | undefined, nowUs: number, policy: TokenBucketPolicy): number {
  if (state === undefined || state.untilUs <= nowUs) return 0
  const { untilUs, atUs, used } = state
  // A state from the future (the clock was set back) counts as written now.
  const elapsed = nowUs > atUs ? nowUs - atUs : 0
  const span = untilUs - atUs
  const level = hasNumbersOf(state, policy)
    ? used - elapsed * policy.ticks.rate
    : Math.ceil(((used * (span - elapsed)) / span / state.unit) * policy.ticks.unit)
  return Math.min(Math.max(level, 0), MOST_CAPACITIES * policy.capacity * policy.ticks.unit)
}

/** Whether a state should be written again: it was kept under other numbers, or the clock was set back since. */
export function isDated(state: BucketState, nowUs: number, policy: TokenBucketPolicy): boolean {
  return state.untilUs > nowUs && (state.atUs > nowUs || !hasNumbersOf(state, policy))
}

/** Whether a state was written under the numbers that the policy has now. */
function hasNumbersOf({ untilUs, atUs, used, unit }: BucketState, { ticks }: TokenBucketPolicy): boolean {
  return unit === ticks.unit && untilUs - atUs === Math.ceil(used / ticks.rate)
}

/** The state of a bucket with `used` ticks in use now. */
export function stateOf(used: number, nowUs: number, policy: TokenBucketPolicy): BucketState {
  const { unit, rate } = policy.ticks
  return { untilUs: nowUs + Math.ceil(used / rate), atUs: nowUs, used, unit }
}

/** Whether `cost` more units fit. */
export function fits(level: number, cost: number, policy: TokenBucketPolicy): boolean {
  return level + cost * policy.ticks.unit <= policy.capacity * policy.ticks.unit
}

/** Whole units left. */
export function availableAt(level: number, policy: TokenBucketPolicy): number {
  return Math.max(0, Math.floor((policy.capacity * policy.ticks.unit - level) / policy.ticks.unit))
}

/** µs until `cost` units fit, with no other traffic. */
export function waitUs(level: number, cost: number, policy: TokenBucketPolicy): number {
  const { unit, rate } = policy.ticks
  return Math.max(0, Math.ceil((level + cost * unit - policy.capacity * unit) / rate))
}
