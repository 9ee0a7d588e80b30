import { threeUnitsMs } from '../crowd.js'
import type { BucketOwner, Charge } from '../store.js'
import type { KeyOptions } from './key.js'
import { crowdKey, hasOwnKey, keyFor } from './row.js'

/** A key, and which charges of an op it holds the counts of. */
export interface Place {
  readonly key: string
  readonly indexes: readonly number[]
}

/** The charges of an op by the key that holds what they count. */
export function placesOf(charges: readonly Charge[], options: KeyOptions): readonly Place[] {
  const places: { readonly key: string; readonly indexes: number[]; readonly owner?: BucketOwner }[] = []
  for (let index = 0; index < charges.length; index += 1) {
    const { policy, owner } = charges[index] as Charge
    if (hasOwnKey(policy)) {
      places.push({ key: keyFor(policy, owner, options), indexes: [index] })
      continue
    }
    const known = places.find((place) => place.owner !== undefined && isSame(place.owner, owner))
    if (known === undefined) places.push({ key: keyFor(policy, owner, options), indexes: [index], owner })
    else known.indexes.push(index)
  }
  return places
}

/** The charges of an op of which the processes that share them are counted, by the key that holds those. */
export function crowdsOf(charges: readonly Charge[], options: KeyOptions): readonly Place[] {
  const crowds: { readonly key: string; readonly indexes: number[]; readonly owner: BucketOwner }[] = []
  for (const [index, { policy, owner }] of charges.entries()) {
    if (threeUnitsMs(policy) === undefined) continue
    const known = crowds.find((crowd) => isSame(crowd.owner, owner))
    if (known === undefined) crowds.push({ key: crowdKey(owner, options), indexes: [index], owner })
    else known.indexes.push(index)
  }
  return crowds
}

function isSame(one: BucketOwner, other: BucketOwner): boolean {
  return one === other || (one.kind === other.kind && one.value === other.value && one.scope === other.scope)
}
