import { meterOf } from '../algorithm/algorithms.js'
import type { Reading } from '../algorithm/meter.js'
import type { Policy } from '../policy.js'
import type { Charge, Op, Reply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { keyFor, ROW, rowOf, unitsIn, wordsOf } from './row.js'

interface Spot {
  readonly charge: Charge
  /** Where the charge stands in its op. */
  readonly index: number
}

/** Where the table of policies begins among the arguments. */
const FIRST_ROW = 3

/** Packs checks into one call of the script `consume`; see its head for the form. */
export function packChecks(ops: readonly Op[], options: KeyOptions): Call {
  const rows = new Map<Policy, number>()
  const table: string[] = []
  const keys: string[] = []
  const checks: string[] = []
  const asked: Spot[][] = []

  function rowAt(policy: Policy): number {
    const known = rows.get(policy)
    if (known !== undefined) return known
    const row = FIRST_ROW + rows.size * ROW
    rows.set(policy, row)
    table.push(...rowOf(policy))
    return row
  }

  for (const op of ops) {
    const places = placesOf(chargesOf(op), options)
    checks.push(op.kind === 'consume' ? '1' : '0', op.kind === 'consume' ? op.lease : '', String(places.size))
    for (const [key, spots] of places) {
      keys.push(key)
      checks.push(String(spots.length))
      for (const { charge } of spots)
        checks.push(String(rowAt(charge.policy)), String(unitsIn(charge.policy, charge.cost)))
    }
    asked.push([...places.values()].flat())
  }
  const args = [String(ops.length), String(FIRST_ROW + table.length), ...table, ...checks]
  return { script: 'consume', keys, args, read: (answer) => readChecks(answer, ops, asked) }
}

function chargesOf(op: Op): readonly Charge[] {
  return op.kind === 'adjust' ? [] : op.charges
}

/** The charges of an op by the key that holds what they count. */
function placesOf(charges: readonly Charge[], options: KeyOptions): Map<string, Spot[]> {
  const places = new Map<string, Spot[]>()
  for (const [index, charge] of charges.entries()) {
    const key = keyFor(charge.policy, charge.owner, options)
    const spots = places.get(key)
    if (spots === undefined) places.set(key, [{ charge, index }])
    else spots.push({ charge, index })
  }
  return places
}

function readChecks(answer: unknown, ops: readonly Op[], asked: readonly Spot[][]): readonly Reply[] {
  const total = asked.flat().reduce((sum, { charge }) => sum + wordsOf(charge.policy), 0)
  const numbers = numbersIn(answer, 1 + total)
  const healed = new Set(numbers.slice(1 + total))
  let nth = 0
  let word = 1
  return ops.map((op, i) => {
    const readings = new Array<Reading>(chargesOf(op).length)
    const fresh: number[] = []
    let admitted = true
    for (const { charge, index } of asked[i] ?? []) {
      nth += 1
      const reading = numbers.slice(word, word + wordsOf(charge.policy))
      word += reading.length
      readings[index] = reading
      if (!meterOf(charge.policy).fits(reading, charge.cost, charge.policy)) admitted = false
      if (healed.has(nth)) fresh.push(index)
    }
    return { nowUs: numbers[0] ?? 0, admitted, readings, healed: fresh }
  })
}
