import { listOf } from '../list.js'
import { Count } from './bucket.js'
import { LARGEST } from './debt.js'
import { type Meter, type Reading, unitsAwaited, View } from './meter.js'
import type { SlidingWindowCounterPolicy } from './sliding-window-counter.js'
import { startOfWindow } from './window.js'

type Counts = readonly [current: number, previous: number, startUs: number]

/**
 * The counts of the window that is now and of the one before. Counts kept under another window length, or before the
 * clock was set back, are handed on to the window that is now. What a larger quota granted stays.
 */
export function countsAt(
  state: Count | undefined,
  nowUs: number,
  policy: SlidingWindowCounterPolicy,
): Counts {
  const { windowUs } = policy
  const startUs = startOfWindow(nowUs, windowUs)
  if (state === undefined || state.untilUs <= nowUs) return listOf(0, 0, startUs)
  const { atUs, used, unit } = state
  const previous = isHandedOn(state) ? 0 : unit
  if (isDatedCounter(state, nowUs, policy)) return listOf(used, 0, startUs)
  return atUs === startUs ? listOf(used, previous, startUs) : listOf(0, used, startUs)
}

/**
 * Whether counts were handed on: they end sooner than by themselves, have no units of the window before, and in their
 * place, above all that those can be, the length of the window by which they were written.
 */
function isHandedOn({ unit }: Count): boolean {
  return unit > LARGEST
}

/** Whether counts are of other windows than those of the policy. */
export function isDatedCounter(
  state: Count,
  nowUs: number,
  { windowUs }: SlidingWindowCounterPolicy,
): boolean {
  const { untilUs, atUs, unit } = state
  if (untilUs <= nowUs) return false
  const lastsUs = untilUs - atUs
  if (atUs > nowUs || atUs % windowUs !== 0 || lastsUs > 2 * windowUs) return true
  return isHandedOn(state) ? unit !== LARGEST + windowUs : lastsUs !== 2 * windowUs
}

/** When counts end, where that is before they would by themselves. */
export function counterEnd(
  state: Count | undefined,
  nowUs: number,
  policy: SlidingWindowCounterPolicy,
): number | undefined {
  if (state === undefined || state.untilUs <= nowUs) return undefined
  const stays = isHandedOn(state) && state.atUs === startOfWindow(nowUs, policy.windowUs)
  return stays || isDatedCounter(state, nowUs, policy) ? state.untilUs : undefined
}

/** @param endUs when the counts end, where that is before they would by themselves */
export function counterWith(
  [current, previous, startUs]: Counts,
  { windowUs }: SlidingWindowCounterPolicy,
  endUs: number = Number.POSITIVE_INFINITY,
): Count {
  const lastUs = startUs + 2 * windowUs
  if (endUs >= lastUs) return new Count(lastUs, startUs, current, previous)
  return new Count(endUs, startUs, current, LARGEST + windowUs)
}

/** The estimate at a time into the window: what is left of the window before counts as used. Rounded up. */
function estimate(current: number, previous: number, elapsedUs: number, windowUs: number): number {
  return Math.ceil((previous * (windowUs - elapsedUs)) / windowUs) + current
}

/** µs into a window from which on the estimate is at most `most`; undefined when that is not within the window. */
function elapsedUntil(most: number, current: number, previous: number, windowUs: number): number | undefined {
  if (current > most) return undefined
  // The same rounding as the decision's own, or a quota near the largest would be refused with nothing to wait for.
  if (estimate(current, previous, 0, windowUs) <= most) return 0
  let elapsed = Math.ceil(windowUs - ((most - current) * windowUs) / previous)
  // The quotient above may be off by one in either direction; what counts is what the estimate then says.
  while (elapsed > 0 && estimate(current, previous, elapsed - 1, windowUs) <= most) elapsed -= 1
  while (elapsed < windowUs && estimate(current, previous, elapsed, windowUs) > most) elapsed += 1
  return elapsed < windowUs ? elapsed : undefined
}

/** µs until the estimate is at most `most`: in this window, or in the next, where this one is the one before. */
function waitUntil(
  most: number,
  [current, previous, startUs]: Counts,
  nowUs: number,
  windowUs: number,
): number {
  const here = elapsedUntil(most, current, previous, windowUs)
  if (here !== undefined) return Math.max(0, startUs + here - nowUs)
  return startUs + windowUs + (elapsedUntil(most, 0, current, windowUs) ?? windowUs) - nowUs
}

/** What is read of the window that is now and of the one before. */
export function readCounter(
  state: Count | undefined,
  nowUs: number,
  policy: SlidingWindowCounterPolicy,
): Reading {
  const [current, previous, startUs] = countsAt(state, nowUs, policy)
  return listOf(current, previous, startUs, estimate(current, previous, nowUs - startUs, policy.windowUs))
}

export const slidingCounterMeter: Meter<SlidingWindowCounterPolicy> = {
  // Whether it fits needs the time of the reading, so the store adds it as a fourth number: the estimate.
  fits: (reading, cost, { quota }) => (reading[3] ?? 0) + cost <= quota,

  view([current = 0, previous = 0, startUs = 0], cost, taken, nowUs, { quota, windowUs }) {
    const counts: Counts = listOf(taken ? current + cost : current, previous, startUs)
    const used = estimate(counts[0], previous, nowUs - startUs, windowUs)
    const available = Math.max(0, quota - used)
    const waitUs = waitUntil(quota - unitsAwaited(cost, used <= quota), counts, nowUs, windowUs)
    const freedUs = used > 0 ? waitUntil(Math.min(quota, used) - 1, counts, nowUs, windowUs) : 0
    return new View(available, waitUs, Math.max(freedUs, (available / quota) * windowUs))
  },
}
