import { heldMost } from '../hold.js'
import { listOf } from '../list.js'
import { type Count, countOf, type Draft } from './bucket.js'
import type { FixedWindowPolicy } from './fixed-window.js'
import { type Meter, type Reading, unitsAwaited, View } from './meter.js'
import { startOfWindow } from './window.js'

/** What counts now: units used, the end of the window (µs), units of calls that are held for the next one. */
export type Window = readonly [used: number, endUs: number, held: number]

/**
 * The window that is now. One kept under another length, or before the clock was set back, hands its units on to the
 * window that is now. What a larger quota granted stays, for it is over at the end of the window anyway: were it cut short,
 * a process that still goes by the larger (as some do while numbers are rolled out) would let it pass again.
 */
export function windowAt(state: Count | undefined, nowUs: number, policy: FixedWindowPolicy): Window {
  if (state === undefined || state.untilUs <= nowUs) return listOf(0, endOfWindow(nowUs, policy), 0)
  const { startUs, used, endUs, held } = keptAt(state, nowUs)
  if (!isDated(startUs, endUs, nowUs, policy)) return listOf(used, endUs, held)
  return listOf(used, Math.min(endUs, endOfWindow(nowUs, policy)), held)
}

export function isDatedWindow(state: Count, nowUs: number, policy: FixedWindowPolicy): boolean {
  if (state.untilUs <= nowUs) return false
  const { startUs, endUs } = keptAt(state, nowUs)
  return isDated(startUs, endUs, nowUs, policy)
}

function isDated(startUs: number, endUs: number, nowUs: number, { windowUs }: FixedWindowPolicy): boolean {
  return startUs > nowUs || endUs - startUs !== windowUs || endUs - nowUs > windowUs
}

/** A state that lasts, as it is by now: with units held it is of two windows, and the second begins with those. */
function keptAt({ atUs, untilUs, used, unit }: Count, nowUs: number): Kept {
  if (unit === 0) return new Kept(atUs, untilUs, used, 0)
  const middleUs = atUs + Math.floor((untilUs - atUs) / 2)
  return middleUs <= nowUs ? new Kept(middleUs, untilUs, unit, 0) : new Kept(atUs, middleUs, used, unit)
}

class Kept {
  readonly startUs: number
  readonly endUs: number
  readonly used: number
  readonly held: number

  constructor(startUs: number, endUs: number, used: number, held: number) {
    this.startUs = startUs
    this.endUs = endUs
    this.used = used
    this.held = held
  }
}

/** The end of a window that begins now, or of the one of the calendar that is now. */
function endOfWindow(nowUs: number, { anchor, windowUs }: FixedWindowPolicy): number {
  return anchor === 'epoch' ? startOfWindow(nowUs, windowUs) + windowUs : nowUs + windowUs
}

/** The state of a window with so many units used and held. */
export function windowWith(
  used: number,
  endUs: number,
  held: number,
  { windowUs }: FixedWindowPolicy,
  into?: Draft,
): Count {
  const untilUs = held > 0 ? endUs + windowUs : endUs
  return countOf(untilUs, endUs - windowUs, used, held, into)
}

/** What is read of the window that is now. */
export function readWindow(state: Count | undefined, nowUs: number, policy: FixedWindowPolicy): Reading {
  const window = windowAt(state, nowUs, policy)
  const spare = aheadMost(window[1] - nowUs, policy) - window[2]
  // With nothing to be held and nothing held, which is how most are, that is what has just been made.
  return spare === window[2] ? window : listOf(window[0], window[1], spare)
}

/** The state after a call has taken its units: of this window if it has them, else of the next. */
export function windowAfter(
  reading: Reading,
  cost: number,
  nowUs: number,
  policy: FixedWindowPolicy,
  into?: Draft,
): Count {
  const used = reading[0] ?? 0
  const endUs = reading[1] ?? 0
  const held = aheadMost(endUs - nowUs, policy) - (reading[2] ?? 0)
  return isHeld(used, cost, policy)
    ? windowWith(used, endUs, held + cost, policy, into)
    : windowWith(used + cost, endUs, held, policy, into)
}

/** Units that may be taken ahead of the next window in all, so long before it begins. */
export function aheadMost(leftUs: number, policy: FixedWindowPolicy): number {
  return policy.holdUs !== undefined && leftUs <= policy.holdUs ? heldMost(policy) : 0
}

/** Whether a call that fits does so only in the next window. */
export function isHeld(used: number, cost: number, { holdUs, quota }: FixedWindowPolicy): boolean {
  return holdUs !== undefined && cost > 0 && used + cost > quota
}

/** Units come back all at once, at the end of the window. */
export const fixedWindowMeter: Meter<FixedWindowPolicy> = {
  fits: (reading, cost, { quota }) =>
    (reading[0] ?? 0) + cost <= quota || (cost > 0 && cost <= (reading[2] ?? 0)),

  heldUs: (reading, cost, nowUs, policy) =>
    isHeld(reading[0] ?? 0, cost, policy) ? (reading[1] ?? 0) - nowUs : 0,

  view(reading, cost, taken, nowUs, policy) {
    const { quota, windowUs } = policy
    const used = reading[0] ?? 0
    const endUs = reading[1] ?? 0
    const spare = reading[2] ?? 0
    const leftUs = endUs - nowUs
    // The next window begins with what is held for it, which may be more than its quota: a call came to cost more.
    const ahead = aheadMost(leftUs, policy) - spare
    // A call that is held is told of the window in which it is let go.
    const held = taken && isHeld(used, cost, policy)
    const before = held ? ahead : used
    const after = taken ? before + cost : before
    const endsUs = held ? leftUs + windowUs : leftUs
    const need = unitsAwaited(cost, after <= quota)
    const full = !held && ahead + need > quota
    const waitUs = after + need <= quota ? 0 : full ? endsUs + windowUs : endsUs
    return new View(Math.max(0, quota - after), waitUs, endsUs)
  },
}
