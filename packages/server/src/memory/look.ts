import type { Draft } from '../algorithm/bucket.js'
import type { Reading } from '../algorithm/meter.js'
import { doFit } from '../fit.js'
import { asLongAs } from '../list.js'
import type { Charge } from '../store.js'
import { isStale, readState, type State, takeFrom } from './ledger.js'
import type { Shelf } from './shelf.js'

/**
 * What stands in the buckets of charges that are decided together, before any is made. A class, since there is one for
 * each call: see `listOf`.
 */
export class Look {
  readonly charges: readonly Charge[]
  readonly states: readonly (State | undefined)[]
  readonly readings: readonly Reading[]
  readonly fits: boolean

  constructor(
    charges: readonly Charge[],
    states: readonly (State | undefined)[],
    readings: readonly Reading[],
  ) {
    this.charges = charges
    this.states = states
    this.readings = readings
    this.fits = doFit(charges, readings)
  }
}

export function lookAt(shelf: Shelf, charges: readonly Charge[], nowUs: number): Look {
  const states = asLongAs<State | undefined>(charges)
  const readings = asLongAs<Reading>(charges)
  for (let i = 0; i < charges.length; i += 1) {
    const charge = charges[i] as Charge
    const state = shelf.get(charge)
    states[i] = state
    readings[i] = readState(state, charge.cost, nowUs, charge.policy)
  }
  return new Look(charges, states, readings)
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
    const after = stateAfter(charge, states[i], readings[i] as Reading, takes, lease, nowUs)
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
