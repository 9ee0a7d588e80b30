import type { Check } from '../call.js'
import { threeUnitsMs } from '../crowd.js'
import { listOf } from '../list.js'
import type { Policy } from '../policy.js'
import type { Charge } from '../store.js'
import type { Place } from './places.js'
import { ROW, type RowOf, unitsIn } from './row.js'
import { chargesIn, groupsIn, modesIn, sizesIn } from './trials.js'

/** Where the table of policies begins among the arguments. */
const FIRST_ROW = 4
const FIRST_NAME = 48

/** A check of a shape. Classes here, since there may be one of each for each call: see `listOf`. */
class Shape {
  readonly op: Check
  readonly places: readonly Place[]

  constructor(op: Check, places: readonly Place[]) {
    this.op = op
    this.places = places
  }
}

/**
 * What the checks of one script call ask, whoever they ask for: most of them ask the same, and it is sent once. There
 * are no more shapes than a call has checks.
 */
export class Shapes {
  readonly #rowOf: RowOf
  readonly #rows = new Map<Policy, number>()
  readonly #table = listOf<string[]>()
  readonly #told = listOf<string[]>()
  readonly #known = listOf<Shape[]>()

  constructor(rowOf: RowOf) {
    this.#rowOf = rowOf
  }

  /** The one character that names the shape of a check. */
  nameOf(op: Check, places: readonly Place[], crowds: readonly Place[]): string {
    let index = this.#known.findIndex((one) => hasShape(one.op, one.places, op, places))
    if (index < 0) {
      index = this.#known.push(new Shape(op, places)) - 1
      this.#tell(op, places, crowds)
    }
    return String.fromCharCode(FIRST_NAME + index)
  }

  /** All arguments of the call. @param shaped the shapes of its checks, in order @param names what they call things */
  argumentsFor(shaped: string, names: readonly string[]): readonly string[] {
    const firstShape = FIRST_ROW + this.#table.length
    const heads = listOf(shaped, String(firstShape), String(firstShape + this.#told.length))
    return heads.concat(this.#table, this.#told, names)
  }

  #rowAt(policy: Policy): number {
    const at = this.#rows.get(policy) ?? FIRST_ROW + this.#rows.size * ROW
    if (this.#rows.has(policy)) return at
    this.#rows.set(policy, at)
    for (const word of this.#rowOf(policy).words) this.#table.push(word)
    return at
  }

  #tell(op: Check, places: readonly Place[], crowds: readonly Place[]): void {
    const { once } = op
    const told = this.#told
    const lease = op.kind === 'consume' ? op.lease : ''
    const charges = chargesIn(op)
    const groups = groupsIn(op)
    told.push((op.kind === 'consume' ? '1' : '0') + modesIn(op), lease === '' ? '0' : '1')
    told.push(String(op.blocks.length))
    told.push(String(once?.ms ?? 0), String(places.length), String(crowds.length))
    for (const { indexes } of places) {
      told.push(String(indexes.length))
      for (const index of indexes) {
        const charge = charges[index]
        if (charge === undefined) continue
        told.push(String(this.#rowAt(charge.policy)), String(unitsIn(charge.policy, charge.cost)))
        if (groups !== undefined) told.push(String(groups[index]))
      }
    }
    for (const { indexes } of crowds) {
      told.push(String(indexes.length))
      for (const index of indexes) told.push(threeOf(op.charges[index]))
    }
  }
}

function threeOf(charge: Charge | undefined): string {
  return String(charge === undefined ? 0 : (threeUnitsMs(charge.policy) ?? 0))
}

/** Whether two checks ask for the same, of whomever. */
function hasShape(
  one: Check,
  places: readonly Place[],
  other: Check,
  otherPlaces: readonly Place[],
): boolean {
  if (one.kind !== other.kind || one.blocks.length !== other.blocks.length) return false
  if ((one.crowd === undefined) !== (other.crowd === undefined)) return false
  if (one.charges.length !== other.charges.length || places.length !== otherPlaces.length) return false
  if (sizesIn(one) !== sizesIn(other)) return false
  const charges = chargesIn(one)
  const others = chargesIn(other)
  for (let i = 0; i < charges.length; i += 1) {
    const mine = charges[i]
    const theirs = others[i]
    if (mine?.policy !== theirs?.policy || mine?.cost !== theirs?.cost) return false
  }
  if (
    places.length > 1 &&
    places.some(({ indexes }, i) => String(indexes) !== String(otherPlaces[i]?.indexes))
  )
    return false
  if (one.once?.ms !== other.once?.ms) return false
  if (one.kind === 'peek' || other.kind === 'peek') return true
  return (one.lease === '') === (other.lease === '')
}
