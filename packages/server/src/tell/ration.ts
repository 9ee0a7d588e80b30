import type { Clock } from '@ratepact/contract'

/**
 * Keeps things that are told from flooding whoever is told: a few at once, then one in `everyMs`.
 * @returns a function to be called each time: 0 = keep quiet, else how often it was called since it last let
 * something through, this time included
 */
export function createRation(clock: Pick<Clock, 'now'>, everyMs: number, atOnce = 1): () => number {
  let left = atOnce
  let sinceMs = clock.now()
  let calls = 0
  return () => {
    calls += 1
    const now = clock.now()
    const more = Math.floor((now - sinceMs) / everyMs)
    if (more > 0) {
      left = Math.min(atOnce, left + more)
      sinceMs = left === atOnce ? now : sinceMs + more * everyMs
    }
    if (left === 0) return 0
    if (left === atOnce) sinceMs = now
    left -= 1
    const told = calls
    calls = 0
    return told
  }
}
