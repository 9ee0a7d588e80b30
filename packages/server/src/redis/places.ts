import { threeUnitsMs } from '../crowd.js'
import { listOf } from '../list.js'
import type { BucketOwner, Charge } from '../store.js'
import type { KeyOptions } from './key.js'
import { crowdKey, hasOwnKey, keyFor } from './row.js'

/** A key, and which charges of an op it holds the counts of. */
export interface Place {
  readonly key: string
  readonly indexes: readonly number[]
}

/** A class, since there are some for each call: see `listOf`. */
class Shared implements Place {
  readonly key: string
  readonly indexes: number[]
  /** Whose key it is, where others of theirs may share it. */
  readonly owner: BucketOwner | undefined

  constructor(key: string, index: number, owner?: BucketOwner) {
    this.key = key
    this.indexes = listOf(index)
    this.owner = owner
  }
}

/** The charges of an op by the key that holds what they count. */
export function placesOf(charges: readonly Charge[], options: KeyOptions): readonly Place[] {
  const places = listOf<Shared[]>()
  for (let index = 0; index < charges.length; index += 1) {
    const { policy, owner } = charges[index] as Charge
    if (hasOwnKey(policy)) {
      places.push(new Shared(keyFor(policy, owner, options), index))
      continue
    }
    const known = places.find((place) => place.owner !== undefined && isSame(place.owner, owner))
    if (known === undefined) places.push(new Shared(keyFor(policy, owner, options), index, owner))
    else known.indexes.push(index)
  }
  return places
}

/** The charges of an op of which the processes that share them are counted, by the key that holds those. */
export function crowdsOf(charges: readonly Charge[], options: KeyOptions): readonly Place[] {
  const crowds = listOf<Shared[]>()
  for (let index = 0; index < charges.length; index += 1) {
    const { policy, owner } = charges[index] as Charge
    if (threeUnitsMs(policy) === undefined) continue
    const known = crowds.find((crowd) => crowd.owner !== undefined && isSame(crowd.owner, owner))
    if (known === undefined) crowds.push(new Shared(crowdKey(owner, options), index, owner))
    else known.indexes.push(index)
  }
  return crowds
}

function isSame(one: BucketOwner, other: BucketOwner): boolean {
  return one === other || (one.kind === other.kind && one.value === other.value && one.scope === other.scope)
}
