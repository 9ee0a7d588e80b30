import type { Advance } from '../store.js'
import type { FixedWindowPolicy } from './fixed-window.js'

/** What an advance on a window comes to: units used in it, and what the process is told. */
export interface AdvancedWindow {
  readonly used: number
  readonly given: number
  readonly kept: number
  readonly lost: boolean
}

/**
 * Takes units of a window ahead. They count as used from then on and die with the window, so nothing is kept beside
 * the count; only what is given back before its end comes back. The script `advance` does the same.
 */
export function advanceWindow(
  used: number,
  endUs: number,
  { held, keep, want, share }: Advance,
  { quota }: FixedWindowPolicy,
): AdvancedWindow {
  const same = held.units > 0 && held.endsUs === endUs
  const lost = same && used < held.units
  const left = same && !lost ? held.units - held.spent : 0
  const kept = keep ? left : 0
  const after = used - (left - kept)
  const given = Math.min(want, Math.max(0, Math.floor((quota - after) / share)))
  return { used: after + given, given, kept, lost }
}
