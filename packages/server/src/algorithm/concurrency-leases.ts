import type { ConcurrencyPolicy } from './concurrency.js'
import { type Meter, View } from './meter.js'

/** A place that a call holds: when it ends (µs), and for how long it may be held from when it was taken or renewed. */
export class Place {
  readonly endUs: number
  readonly leaseUs: number

  constructor(endUs: number, leaseUs: number) {
    this.endUs = endUs
    this.leaseUs = leaseUs
  }
}

/** Places by the name of their lease. Memory's own form. */
export type Leases = Map<string, Place>

/**
 * Places that are taken. One that would be held for longer than it may from now (the clock was set back) is cut, where
 * that is longer than those may be held that are asked about.
 */
export function leasesTaken(
  leases: Leases,
  nowUs: number,
  { leaseUs: longestUs }: ConcurrencyPolicy,
): number {
  let taken = 0
  for (const [lease, { endUs, leaseUs }] of leases) {
    if (endUs > nowUs + Math.max(leaseUs, longestUs)) leases.set(lease, new Place(nowUs + leaseUs, leaseUs))
    if (endUs > nowUs) taken += 1
  }
  return taken
}

/** Takes back the places whose lease has ended. */
export function dropEnded(leases: Leases, nowUs: number): void {
  for (const [lease, { endUs }] of leases) if (endUs <= nowUs) leases.delete(lease)
}

/** When a place will be free nobody knows; time says nothing, and the wait is a hint. */
const HINT_US = 1e6

export const concurrencyMeter: Meter<ConcurrencyPolicy> = {
  fits: ([taken = 0], cost, { quota }) => taken + cost <= quota,

  view([inUse = 0], cost, taken, _nowUs, { quota }) {
    const after = taken ? inUse + cost : inUse
    return new View(Math.max(0, quota - after), after + Math.max(1, cost) <= quota ? 0 : HINT_US)
  },
}
