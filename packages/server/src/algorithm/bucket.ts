import { heldTicks } from '../hold.js'
import { mostBelieved } from './debt.js'
import type { LeakyBucketPolicy } from './leaky-bucket.js'
import type { Meter } from './meter.js'
import type { TokenBucketPolicy } from './token-bucket.js'

type BucketPolicy = TokenBucketPolicy | LeakyBucketPolicy

/** What is stored of one bucket or window: whole numbers; the script in Redis keeps the same. */
export interface Count {
  /** From this instant (µs) on the state says nothing: the bucket is full, the window over. */
  readonly untilUs: number
  /** The instant of the level, or the start of the window (µs). */
  readonly atUs: number
  /** Ticks or units in use. */
  readonly used: number
  /** Ticks that a unit was worth when this was written; of a sliding counter, the units of the window before. */
  readonly unit: number
}

/** Ticks in use now. A state written under other numbers keeps the units that were in use. */
export function levelAt(state: Count | undefined, nowUs: number, policy: BucketPolicy): number {
  // A state without a span was empty when it was written; only a clock set back makes it look alive.
  if (state === undefined || state.untilUs <= nowUs || state.untilUs <= state.atUs) return 0
  const { untilUs, atUs, used } = state
  // A state from the future (the clock was set back) counts as written now.
  const elapsed = nowUs > atUs ? nowUs - atUs : 0
  const span = untilUs - atUs
  const level = hasNumbersOf(state, policy)
    ? used - elapsed * policy.ticks.rate
    : Math.ceil(((used * (span - elapsed)) / span / state.unit) * policy.ticks.unit)
  return Math.min(Math.max(level, 0), believedOf(policy))
}

function believedOf(policy: BucketPolicy): number {
  return mostBelieved(roomOf(policy), policy.maxDebt * policy.ticks.unit)
}

/** The most ticks that calls may take: the capacity, and what calls may be held for. */
export function roomOf(policy: BucketPolicy): number {
  const capacity = policy.quota * policy.ticks.unit
  return policy.holdUs === undefined ? capacity : capacity + heldTicks(policy)
}

/**
 * Whether a state should be written again: it was kept under other numbers, the clock was set back since, or it says
 * more than is believed, which has to begin to flow back now.
 */
export function isDated(state: Count, nowUs: number, policy: BucketPolicy): boolean {
  const { untilUs, atUs, used } = state
  if (untilUs <= nowUs) return false
  if (atUs > nowUs || !hasNumbersOf(state, policy)) return true
  return used - (nowUs - atUs) * policy.ticks.rate > believedOf(policy)
}

/** Whether a state was written under the numbers that the policy has now. */
function hasNumbersOf({ untilUs, atUs, used, unit }: Count, { ticks }: BucketPolicy): boolean {
  return unit === ticks.unit && untilUs - atUs === Math.ceil(used / ticks.rate)
}

/** The state of a bucket with `used` ticks in use now. */
export function bucketWith(used: number, nowUs: number, policy: BucketPolicy): Count {
  const { unit, rate } = policy.ticks
  return { untilUs: nowUs + Math.ceil(used / rate), atUs: nowUs, used, unit }
}

/** Units in use are ticks that flow back steadily; a leaky bucket moreover holds each call until its place is reached. */
export const bucketMeter: Meter<BucketPolicy> = {
  fits([level = 0], cost, policy) {
    const { ticks, quota, queueTicks } = policy
    if (policy.holdUs !== undefined) return level + cost * ticks.unit <= roomOf(policy)
    return level + cost * ticks.unit <= quota * ticks.unit && (cost === 0 || level <= queueTicks)
  },

  heldUs([level = 0], cost, _nowUs, { ticks, quota }) {
    const over = level + cost * ticks.unit - quota * ticks.unit
    return cost > 0 && over > 0 ? Math.ceil(over / ticks.rate) : 0
  },

  view([level = 0], cost, taken, _nowUs, policy) {
    const { ticks, quota, queueTicks, ratePerSecond } = policy
    const need = Math.max(1, cost) * ticks.unit
    const after = taken ? level + cost * ticks.unit : level
    const available = Math.max(0, Math.floor((quota * ticks.unit - after) / ticks.unit))
    const over = Math.max(after + need - quota * ticks.unit, after - queueTicks)
    const waitUs = Math.max(0, Math.ceil(over / ticks.rate))
    const windowUs = (available / ratePerSecond) * 1e6
    if (policy.algorithm !== 'leaky-bucket' || !taken || cost === 0) return { available, waitUs, windowUs }
    return { available, waitUs, windowUs, delayUs: Math.ceil(level / ticks.rate) }
  },
}
