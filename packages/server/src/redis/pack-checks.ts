import { meterOf } from '../algorithm/algorithms.js'
import type { Reading } from '../algorithm/meter.js'
import type { Policy } from '../policy.js'
import type { Charge, Op, Reply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { blockKey, keyFor, onceKey, ROW, rowOf, unitsIn, wordsOf } from './row.js'

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
    const { charges, blocks, once, lease } = checkOf(op)
    const places = placesOf(charges, options)
    keys.push(...blocks.map((owner) => blockKey(owner, options)))
    if (once !== undefined) keys.push(onceKey(once.owner, once.id, options))
    checks.push(op.kind === 'consume' ? '1' : '0', lease, String(blocks.length), String(once?.ms ?? 0))
    checks.push(String(places.size))
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

/** The parts of a check, whichever of the two it is. */
function checkOf(op: Op): Omit<Extract<Op, { kind: 'consume' }>, 'kind'> {
  if (op.kind === 'consume') return op
  return {
    charges: op.kind === 'peek' ? op.charges : [],
    blocks: op.kind === 'peek' ? op.blocks : [],
    lease: '',
  }
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
  const total = ops.reduce((sum, op, i) => sum + wordsFor(op, asked[i] ?? []), 1)
  const numbers = numbersIn(answer, total)
  const healed = new Set(numbers.slice(total))
  let nth = 0
  let word = 1
  return ops.map((op, i) => {
    const { charges, blocks, once } = checkOf(op)
    const blocked = blocks.length === 0 ? 0 : (numbers[word++] ?? 0)
    const replayed = once !== undefined && numbers[word++] === 1
    const readings = new Array<Reading>(charges.length)
    const fresh: number[] = []
    let fits = true
    for (const { charge, index } of asked[i] ?? []) {
      nth += 1
      const reading = numbers.slice(word, word + wordsOf(charge.policy))
      word += reading.length
      readings[index] = reading
      if (!meterOf(charge.policy).fits(reading, charge.cost, charge.policy)) fits = false
      if (healed.has(nth)) fresh.push(index)
    }
    return {
      nowUs: numbers[0] ?? 0,
      admitted: blocked === 0 && (fits || replayed),
      blockedUs: blocked < 0 ? Number.POSITIVE_INFINITY : blocked,
      replayed,
      readings,
      healed: fresh,
    }
  })
}

/** How many numbers the script answers for a check. */
function wordsFor(op: Op, asked: readonly Spot[]): number {
  const { blocks, once } = checkOf(op)
  const own = (blocks.length > 0 ? 1 : 0) + (once === undefined ? 0 : 1)
  return asked.reduce((sum, { charge }) => sum + wordsOf(charge.policy), own)
}
