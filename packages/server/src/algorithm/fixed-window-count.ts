import type { Count } from './bucket.js'
import { MOST_QUOTAS } from './debt.js'
import type { FixedWindowPolicy } from './fixed-window.js'
import type { Meter } from './meter.js'
import { startOfWindow } from './window.js'

/**
 * Units used in the window that is now, and its end. A window kept under another length, or before the clock was set
 * back, hands its units on to the window that is now. No debt is above twice the quota.
 */
export function windowAt(
  state: Count | undefined,
  nowUs: number,
  policy: FixedWindowPolicy,
): readonly [used: number, endUs: number] {
  const fresh = endOfWindow(nowUs, policy)
  if (state === undefined || state.untilUs <= nowUs) return [0, fresh]
  const used = Math.min(state.used, MOST_QUOTAS * policy.quota)
  return [used, isDatedWindow(state, nowUs, policy) ? Math.min(state.untilUs, fresh) : state.untilUs]
}

export function isDatedWindow(state: Count, nowUs: number, policy: FixedWindowPolicy): boolean {
  if (state.untilUs <= nowUs) return false
  return (
    state.atUs > nowUs ||
    state.untilUs - state.atUs !== policy.windowUs ||
    state.untilUs - nowUs > policy.windowUs
  )
}

/** The end of a window that begins now, or of the one of the calendar that is now. */
function endOfWindow(nowUs: number, { anchor, windowUs }: FixedWindowPolicy): number {
  return anchor === 'epoch' ? startOfWindow(nowUs, windowUs) + windowUs : nowUs + windowUs
}

export function windowWith(used: number, endUs: number, policy: FixedWindowPolicy): Count {
  return { untilUs: endUs, atUs: endUs - policy.windowUs, used, unit: 0 }
}

/** Units come back all at once, at the end of the window. */
export const fixedWindowMeter: Meter<FixedWindowPolicy> = {
  fits: ([used = 0], cost, { quota }) => used + cost <= quota,

  view([used = 0, endUs = 0], cost, taken, nowUs, { quota }) {
    const after = taken ? used + cost : used
    return {
      available: Math.max(0, quota - after),
      waitUs: after + Math.max(1, cost) <= quota ? 0 : endUs - nowUs,
      windowUs: endUs - nowUs,
    }
  },
}
