import { type Call, type Rule, sum, windowsFromFirst } from './definitions.js'

/** The bound that a whole history of admitted calls breaks, in words; undefined where it keeps them all. */
export function brokenBound(rule: Rule, calls: readonly Call[]): string | undefined {
  switch (rule.kind) {
    case 'bucket':
    case 'queue':
      return anySpan(rule, calls)
    case 'calendar':
      return alignedWindows(calls, rule.windowUs, rule.quota)
    case 'from-first':
      return windowsFromFirst(calls, rule.windowUs)
        .filter((window) => sum(window) > rule.quota)
        .map((window) => `${sum(window)} units in the window from ${window[0]?.atUs}`)[0]
    case 'log':
      return slidingWindows(calls, rule.windowUs, rule.quota)
    case 'counter':
      return (
        alignedWindows(calls, rule.windowUs, rule.quota) ??
        slidingWindows(calls, rule.windowUs, counterBound(rule.quota))
      )
    case 'places':
      return atOnce(calls, rule.quota)
  }
}

/**
 * The most that a sliding counter lets pass in one window. It takes the calls of the window before as spread evenly.
 * The worst for it are calls that were not: a whole quota in the last instant before a window, and then, as their
 * share falls, all that it lets pass until the last instant of the window; of the quota's share one unit is left.
 */
export function counterBound(quota: number): number {
  return 2 * quota - 1
}

/** Capacity and rate × span, between any two calls; a held call is let go later than it was admitted by so much at most. */
function anySpan(
  { quota, units, us, holdUs = 0 }: Rule & { kind: 'bucket' | 'queue' },
  calls: readonly Call[],
): string | undefined {
  for (const [from, first] of calls.entries()) {
    let taken = 0
    for (const call of calls.slice(from)) {
      taken += call.cost
      const span = call.atUs - first.atUs
      if (taken * us > quota * us + (span + holdUs) * units) return `${taken} units in ${span} µs`
    }
  }
  return undefined
}

/** The most in any half-open window of that length; the worst begins with a call. */
function slidingWindows(calls: readonly Call[], windowUs: number, most: number): string | undefined {
  for (const { atUs: startUs } of calls) {
    const taken = sum(calls.filter(({ atUs }) => atUs >= startUs && atUs < startUs + windowUs))
    if (taken > most) return `${taken} units in a window from ${startUs}`
  }
  return undefined
}

function alignedWindows(calls: readonly Call[], windowUs: number, most: number): string | undefined {
  for (const { atUs } of calls) {
    const window = Math.floor(atUs / windowUs)
    const taken = sum(calls.filter((call) => Math.floor(call.atUs / windowUs) === window))
    if (taken > most) return `${taken} units in window ${window} of the calendar`
  }
  return undefined
}

function atOnce(calls: readonly Call[], most: number): string | undefined {
  for (const [i, { atUs }] of calls.entries()) {
    const held = sum(calls.slice(0, i + 1).filter(({ endUs }) => endUs > atUs))
    if (held > most) return `${held} places at once at ${atUs}`
  }
  return undefined
}
