import { heldTicks } from '../hold.js'
import type { Draft as DraftOf } from '../plain.js'
import { LARGEST, mostInUse } from './debt.js'
import type { LeakyBucketPolicy } from './leaky-bucket.js'
import { type Meter, unitsAwaited, View } from './meter.js'
import type { TokenBucketPolicy } from './token-bucket.js'

type BucketPolicy = TokenBucketPolicy | LeakyBucketPolicy

/**
 * What is stored of one bucket or window: whole numbers; the script in Redis keeps the same. A class, since many are made:
 * see `listOf`.
 */
export class Count {
  readonly kind = 'count'
  /** From this instant (µs) on the state says nothing: the bucket is full, the window over. */
  readonly untilUs: number
  /** The instant of the level, or the start of the window (µs). */
  readonly atUs: number
  /** Ticks or units in use. */
  readonly used: number
  /** Ticks that a unit was worth when this was written; of a sliding counter, the units of the window before. */
  readonly unit: number

  constructor(untilUs: number, atUs: number, used: number, unit: number) {
    this.untilUs = untilUs
    this.atUs = atUs
    this.used = used
    this.unit = unit
  }
}

/** A count that is to be made into others: where so many are made, a new object for each would take most of the time. */
export type Draft = DraftOf<Count>

export function emptyCount(): Draft {
  return new Count(0, 0, 0, 0)
}

/** @param into what is made into the count, instead of a new one */
export function countOf(untilUs: number, atUs: number, used: number, unit: number, into?: Draft): Count {
  if (into === undefined) return new Count(untilUs, atUs, used, unit)
  into.untilUs = untilUs
  into.atUs = atUs
  into.used = used
  into.unit = unit
  return into
}

/**
 * Ticks in use now. A state written under other numbers keeps the units that were in use; what of them is more than may
 * be in use (larger numbers granted it) flows back in the time in which as much as may be in use does.
 */
export function levelAt(state: Count | undefined, nowUs: number, policy: BucketPolicy): number {
  if (isEmpty(state, nowUs)) return 0
  const most = mostOf(policy)
  const full = isShortened(state, policy) ? most - sinceUs(state, nowUs) * policy.ticks.rate : undefined
  return Math.min(Math.max(full ?? keptAt(state, nowUs, policy), 0), most)
}

/** Ticks in use now with those that larger numbers granted: never less than the level. */
export function allAt(state: Count | undefined, nowUs: number, policy: BucketPolicy): number {
  if (isEmpty(state, nowUs)) return 0
  return Math.max(levelAt(state, nowUs, policy), Math.min(keptAt(state, nowUs, policy), LARGEST))
}

/** A state without a span was empty when it was written; only a clock set back makes it look alive. */
function isEmpty(state: Count | undefined, nowUs: number): state is undefined {
  return state === undefined || state.untilUs <= nowUs || state.untilUs <= state.atUs
}

/** Ticks of what a state says, now and by the numbers of the policy. */
function keptAt(state: Count, nowUs: number, policy: BucketPolicy): number {
  const { untilUs, atUs, used, unit } = state
  const elapsed = sinceUs(state, nowUs)
  if (hasNumbersOf(state, policy)) return used - elapsed * policy.ticks.rate
  const span = untilUs - atUs
  return Math.ceil(((used * (span - elapsed)) / span / unit) * policy.ticks.unit)
}

/** A state from the future (the clock was set back) counts as written now. */
function sinceUs({ atUs }: Count, nowUs: number): number {
  return nowUs > atUs ? nowUs - atUs : 0
}

/** The most ticks that may be in use, by what is taken after the fact. */
function mostOf(policy: BucketPolicy): number {
  return mostInUse(roomOf(policy), policy.maxDebt * policy.ticks.unit)
}

/** The most ticks that calls may take: the capacity, and what calls may be held for. */
export function roomOf(policy: BucketPolicy): number {
  const capacity = policy.quota * policy.ticks.unit
  return policy.holdUs === undefined ? capacity : capacity + heldTicks(policy)
}

/**
 * Whether a state should be written again: it was kept under other numbers, the clock was set back since, or it says
 * more than may be in use.
 */
export function isDated(state: Count, nowUs: number, policy: BucketPolicy): boolean {
  const { untilUs, atUs } = state
  if (untilUs <= nowUs) return false
  if (atUs > nowUs) return true
  if (!hasNumbersOf(state, policy)) return !isShortened(state, policy)
  return keptAt(state, nowUs, policy) > mostOf(policy)
}

/** Whether a state was written under the numbers that the policy has now. */
function hasNumbersOf({ untilUs, atUs, used, unit }: Count, { ticks }: BucketPolicy): boolean {
  return unit === ticks.unit && untilUs - atUs === Math.ceil(used / ticks.rate)
}

/** Whether a state with more than may be in use has been given the time in which that flows back. */
function isShortened({ untilUs, atUs, used, unit }: Count, policy: BucketPolicy): boolean {
  const { ticks } = policy
  if (unit !== ticks.unit || used <= policy.quota * unit) return false
  const most = mostOf(policy)
  return used > most && untilUs - atUs === Math.ceil(most / ticks.rate)
}

/** The state of a bucket with `used` ticks in use now. */
export function bucketWith(used: number, nowUs: number, policy: BucketPolicy, into?: Draft): Count {
  const { unit, rate } = policy.ticks
  return countOf(nowUs + Math.ceil(used / rate), nowUs, used, unit, into)
}

/**
 * The same with `all` ticks in use, those that larger numbers granted among them: they stay in it, so that who still goes
 * by the larger (as some do while numbers are rolled out) does not let them pass again at once. Both flow back in the
 * same time, so the state is that of a bucket with as much in use as may be, as long ago as it takes to come to the level.
 */
export function bucketWithAll(level: number, all: number, nowUs: number, policy: BucketPolicy): Count {
  const { unit, rate } = policy.ticks
  const most = mostOf(policy)
  const spanUs = Math.ceil(most / rate)
  const sinceUs = Math.max(0, Math.floor((most - level) / rate))
  if (all <= level || sinceUs >= spanUs) return bucketWith(level, nowUs, policy)
  const leftUs = spanUs - sinceUs
  const used = Math.min(Math.ceil((all * spanUs) / leftUs), LARGEST)
  return new Count(nowUs + leftUs, nowUs - sinceUs, used, unit)
}

/** The state by the numbers of the policy, with nothing taken. */
export function renewed(state: Count, nowUs: number, policy: BucketPolicy): Count {
  return bucketWithAll(levelAt(state, nowUs, policy), allAt(state, nowUs, policy), nowUs, policy)
}

/** Units in use are ticks that flow back steadily; a leaky bucket moreover holds each call until its place is reached. */
export const bucketMeter: Meter<BucketPolicy> = {
  fits(reading, cost, policy) {
    const level = reading[0] ?? 0
    const { ticks, quota, queueTicks } = policy
    if (policy.holdUs !== undefined) return level + cost * ticks.unit <= roomOf(policy)
    return level + cost * ticks.unit <= quota * ticks.unit && (cost === 0 || level <= queueTicks)
  },

  heldUs(reading, cost, _nowUs, { ticks, quota }) {
    const level = reading[0] ?? 0
    const over = level + cost * ticks.unit - quota * ticks.unit
    return cost > 0 && over > 0 ? Math.ceil(over / ticks.rate) : 0
  },

  view(reading, cost, taken, _nowUs, policy) {
    const level = reading[0] ?? 0
    const { ticks, quota, queueTicks, ratePerSecond } = policy
    const after = taken ? level + cost * ticks.unit : level
    const need = unitsAwaited(cost, after <= roomOf(policy)) * ticks.unit
    const available = Math.max(0, Math.floor((quota * ticks.unit - after) / ticks.unit))
    const over = Math.max(after + need - quota * ticks.unit, need > 0 ? after - queueTicks : 0)
    const waitUs = Math.max(0, Math.ceil(over / ticks.rate))
    const windowUs = (available / ratePerSecond) * 1e6
    const held = policy.algorithm === 'leaky-bucket' && taken && cost > 0
    return new View(available, waitUs, windowUs, held ? Math.ceil(level / ticks.rate) : undefined)
  },
}
