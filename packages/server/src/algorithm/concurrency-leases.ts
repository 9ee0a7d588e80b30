import type { ConcurrencyPolicy } from './concurrency.js'
import type { Meter } from './meter.js'

/** Places by the name of their lease and when they end (µs). Memory's own form. */
export type Leases = Map<string, number>

/** Places that are taken. A lease that would last longer than a lease (the clock was set back) is cut. */
export function leasesTaken(leases: Leases, nowUs: number, leaseUs: number): number {
  let taken = 0
  for (const [lease, endUs] of leases) {
    if (endUs > nowUs + leaseUs) leases.set(lease, nowUs + leaseUs)
    if (endUs > nowUs) taken += 1
  }
  return taken
}

/** Takes back the places whose lease has ended. */
export function dropEnded(leases: Leases, nowUs: number): void {
  for (const [lease, endUs] of leases) if (endUs <= nowUs) leases.delete(lease)
}

/** When a place will be free nobody knows; time says nothing, and the wait is a hint. */
const HINT_US = 1e6

export const concurrencyMeter: Meter<ConcurrencyPolicy> = {
  fits: ([taken = 0], cost, { quota }) => taken + cost <= quota,

  view([inUse = 0], cost, taken, _nowUs, { quota }) {
    const after = taken ? inUse + cost : inUse
    return { available: Math.max(0, quota - after), waitUs: after + Math.max(1, cost) <= quota ? 0 : HINT_US }
  },
}
