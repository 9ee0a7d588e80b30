/** How busy buckets are of which nothing is held. */
export interface Heat {
  /** Notes a call. @returns units per millisecond once there have been enough of them within one lease */
  note(key: string, units: number, lifeMs: number, nowMs: number): number | undefined
  /** Leaves a bucket alone for so long. */
  rest(key: string, untilMs: number): void
}

interface Count {
  sinceMs: number
  calls: number
  units: number
}

/** Fewer calls than this within one lease are not worth one. */
const BUSY_CALLS = 8
const MOST_KEPT = 10_000

/** A bounded list: beyond it, who was noted first is forgotten. */
export function createHeat(): Heat {
  const counts = new Map<string, Count>()

  function keep(key: string, count: Count): void {
    const [oldest] = counts.keys()
    if (counts.size >= MOST_KEPT && oldest !== undefined) counts.delete(oldest)
    counts.set(key, count)
  }

  return {
    note(key, units, lifeMs, nowMs) {
      const count = counts.get(key)
      if (count === undefined || nowMs - count.sinceMs > lifeMs) {
        if (count !== undefined) counts.delete(key)
        keep(key, { sinceMs: nowMs, calls: 1, units })
        return undefined
      }
      // At rest: it has not begun yet.
      if (nowMs < count.sinceMs) return undefined
      count.calls += 1
      count.units += units
      if (count.calls < BUSY_CALLS) return undefined
      // Of a burst it cannot be told yet how fast it will go on.
      return count.units / Math.max(nowMs - count.sinceMs, lifeMs / 2)
    },
    rest(key, untilMs) {
      counts.delete(key)
      keep(key, { sinceMs: untilMs, calls: 0, units: 0 })
    },
  }
}
