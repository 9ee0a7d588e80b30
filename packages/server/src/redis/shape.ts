import type { Check } from '../call.js'
import { threeUnitsMs } from '../crowd.js'
import type { Policy } from '../policy.js'
import type { Charge } from '../store.js'
import type { Place } from './places.js'
import { ROW, type RowOf, unitsIn } from './row.js'
import { chargesIn, groupsIn, modesIn, sizesIn } from './trials.js'

/** What the checks of one call ask, whoever they ask for: most of them ask the same, and it is sent once. */
export interface Shapes {
  /** The one character that names the shape of a check. */
  nameOf(op: Check, places: readonly Place[], crowds: readonly Place[]): string
  /** All arguments of the call. @param shaped the shapes of its checks, in order @param names what they call things */
  argumentsFor(shaped: string, names: readonly string[]): readonly string[]
}

/** Where the table of policies begins among the arguments. */
const FIRST_ROW = 4
const FIRST_NAME = 48

/** Shapes of one script call: no more of them than a call has checks. */
export function createShapes(rowOf: RowOf): Shapes {
  const rows = new Map<Policy, number>()
  const table: string[] = []
  const shapes: string[] = []
  const known: { readonly op: Check; readonly places: readonly Place[] }[] = []

  function rowAt(policy: Policy): number {
    const at = rows.get(policy) ?? FIRST_ROW + rows.size * ROW
    if (rows.has(policy)) return at
    rows.set(policy, at)
    for (const word of rowOf(policy)) table.push(word)
    return at
  }

  function tell(op: Check, places: readonly Place[], crowds: readonly Place[]): void {
    const { once } = op
    const lease = op.kind === 'consume' ? op.lease : ''
    const charges = chargesIn(op)
    const groups = groupsIn(op)
    shapes.push((op.kind === 'consume' ? '1' : '0') + modesIn(op), lease === '' ? '0' : '1')
    shapes.push(String(op.blocks.length))
    shapes.push(String(once?.ms ?? 0), String(places.length), String(crowds.length))
    for (const { indexes } of places) {
      shapes.push(String(indexes.length))
      for (const index of indexes) {
        const charge = charges[index]
        if (charge === undefined) continue
        shapes.push(String(rowAt(charge.policy)), String(unitsIn(charge.policy, charge.cost)))
        if (groups !== undefined) shapes.push(String(groups[index]))
      }
    }
    for (const { indexes } of crowds) {
      shapes.push(String(indexes.length))
      for (const index of indexes) shapes.push(threeOf(op.charges[index]))
    }
  }

  return {
    nameOf(op, places, crowds) {
      let index = known.findIndex((one) => hasShape(one.op, one.places, op, places))
      if (index < 0) {
        index = known.push({ op, places }) - 1
        tell(op, places, crowds)
      }
      return String.fromCharCode(FIRST_NAME + index)
    },
    argumentsFor(shaped, names) {
      const firstShape = FIRST_ROW + table.length
      return [shaped, String(firstShape), String(firstShape + shapes.length), ...table, ...shapes, ...names]
    },
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
  const [charges, others] = [chargesIn(one), chargesIn(other)]
  for (let i = 0; i < charges.length; i += 1) {
    const [mine, theirs] = [charges[i], others[i]]
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
