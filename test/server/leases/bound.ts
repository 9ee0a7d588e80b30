/** A call that passed: when (µs), and how many units it used. */
export interface Passed {
  readonly atUs: number
  readonly units: number
}

/**
 * The most units by which any span holds more than `capacity + rate × span`, looking at every span between two calls:
 * never above 0 when a bucket keeps its promise.
 */
export function overBucket(passed: readonly Passed[], capacity: number, perSecond: number): number {
  let worst = Number.NEGATIVE_INFINITY
  // Of the spans that end with a call, the fullest: each begins with a call too.
  let fullest = Number.NEGATIVE_INFINITY
  let lastUs = 0
  for (const { atUs, units } of passed) {
    fullest = Math.max(fullest - ((atUs - lastUs) / 1e6) * perSecond, 0) + units
    lastUs = atUs
    worst = Math.max(worst, fullest - capacity)
  }
  return worst
}

/** The most units by which any window of the calendar holds more than the quota. */
export function overWindow(passed: readonly Passed[], quota: number, windowSeconds: number): number {
  const used = new Map<number, number>()
  for (const { atUs, units } of passed) {
    const window = Math.floor(atUs / (windowSeconds * 1e6))
    used.set(window, (used.get(window) ?? 0) + units)
  }
  return Math.max(0, ...used.values()) - quota
}
