import type { Policy } from './policy.js'

/** A client process that shares a bucket, and when it was last admitted (ms). */
export interface Seen {
  readonly instance: number
  readonly atMs: number
}

/** The most that are remembered of one bucket: beyond it the one longest unseen is forgotten. */
const MOST = 256
/** One that was seen so shortly before is not written down again. */
const FRESH_MS = 500
/** For so long a process counts at least, and at most, after it was seen. */
const LEAST_MS = 2000
const LONGEST_MS = 600_000

/**
 * In how many milliseconds three units come back to a policy: processes that share it evenly are each seen three times
 * in that, times their number. Absent where time gives nothing back, since nobody paces by that.
 */
export function threeUnitsMs(policy: Policy): number | undefined {
  if (policy.algorithm === 'concurrency') return undefined
  const unitMs = 'windowUs' in policy ? policy.windowUs / 1000 / policy.quota : 1000 / policy.ratePerSecond
  return Math.min(LONGEST_MS, Math.max(1, Math.ceil(3 * unitMs)))
}

/** How many of those seen, latest first, count: a process for as long as so many would let it wait between two calls. */
export function countOf(seen: readonly Seen[], threeMs: number, nowMs: number): number {
  for (let count = seen.length; count > 0; count -= 1) {
    const { atMs = 0 } = seen[count - 1] ?? {}
    if (nowMs - atMs <= Math.min(LONGEST_MS, Math.max(LEAST_MS, threeMs * count))) return count
  }
  return 0
}

/**
 * Those seen, latest first, with one seen now; the same list where nothing needs to be written. Instants in the future
 * (the clock was set back) count as now.
 */
export function withSeen(
  seen: readonly Seen[],
  instance: number,
  longestThreeMs: number,
  nowMs: number,
): readonly Seen[] {
  const known = seen.find((one) => one.instance === instance)
  if (known !== undefined && known.atMs <= nowMs && nowMs - known.atMs < FRESH_MS) return seen
  const others = seen.filter((one) => one !== known).slice(0, MOST - 1)
  const all = [{ instance, atMs: nowMs }]
  for (const one of others) all.push(one.atMs > nowMs ? { ...one, atMs: nowMs } : one)
  return all.slice(0, countOf(all, longestThreeMs, nowMs))
}
