import type { Draft } from '../algorithm/bucket.js'
import type { Reading } from '../algorithm/meter.js'
import { doFit } from '../fit.js'
import type { Charge } from '../store.js'
import { isStale, readState, type State, takeFrom } from './ledger.js'
import type { Shelf } from './shelf.js'

/** What stands in the buckets of charges that are decided together, before any is made. */
export interface Look {
  readonly charges: readonly Charge[]
  readonly states: readonly (State | undefined)[]
  readonly readings: readonly Reading[]
  readonly fits: boolean
}

export function lookAt(shelf: Shelf, charges: readonly Charge[], nowUs: number): Look {
  const states: (State | undefined)[] = []
  const readings: Reading[] = []
  for (const charge of charges) {
    const state = shelf.get(charge)
    states.push(state)
    readings.push(readState(state, charge.cost, nowUs, charge.policy))
  }
  return { charges, states, readings, fits: doFit(charges, readings) }
}

/**
 * Writes charges with what is taken: all of them, or nothing.
 * @param lease in whose name places are taken; without one, none are
 */
export function take(
  shelf: Shelf,
  { charges, states, readings }: Look,
  takes: boolean,
  lease: string | undefined,
  nowUs: number,
): void {
  for (let i = 0; i < charges.length; i += 1) {
    const charge = charges[i] as Charge
    const after = stateAfter(charge, states[i], readings[i] ?? [], takes, lease, nowUs)
    if (after !== undefined) shelf.set(charge, after, nowUs)
  }
}

/** What a bucket is to be written with; undefined where it stays as it is. */
export function stateAfter(
  { policy, cost }: Charge,
  state: State | undefined,
  reading: Reading,
  takes: boolean,
  lease: string | undefined,
  nowUs: number,
  into?: Draft,
): State | undefined {
  const placeless = lease === undefined && policy.algorithm === 'concurrency'
  const taken = takes && !placeless ? cost : 0
  // Like the script in Redis: what was kept under other numbers or another clock counts by the new from now on.
  if (taken === 0 && !isStale(state, nowUs, policy)) return undefined
  return takeFrom(state, reading, taken, nowUs, policy, lease ?? '', into)
}
