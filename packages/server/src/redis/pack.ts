import { hash64 } from '../hash.js'
import type { Policy } from '../policy.js'
import type { Charge, Op, Reply } from '../store.js'
import { type KeyOptions, keyOf } from './key.js'

/** A script call: its keys and arguments, and how to read what it answers. */
export interface Call {
  readonly script: 'consume' | 'reset'
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** One reply per op, or an error when the answer is not one. */
  read(answer: unknown): readonly Reply[]
}

interface Spot {
  readonly charge: Charge
  /** Where the charge stands in its op. */
  readonly index: number
}

/** Where the table of policies begins among the arguments, and how long its rows are. */
const FIRST_ROW = 3
const ROW = 4

/** Which entry of a record is a policy's: 48 bits of a hash of its name and algorithm. */
export function policyId(policy: Policy): number {
  return Number(hash64(`${policy.name} ${policy.algorithm}`) & 0xffffffffffffn)
}

/** Packs checks into one call of the script `consume`; see its head for the form. */
export function packChecks(ops: readonly Op[], options: KeyOptions): Call {
  const rows = new Map<Policy, number>()
  const table: string[] = []
  const keys: string[] = []
  const checks: string[] = []
  const asked: Spot[][] = []
  for (const op of ops) {
    const records = recordsOf(op.charges, options)
    checks.push(op.kind === 'consume' ? '1' : '0', String(records.size))
    for (const [key, spots] of records) {
      keys.push(key)
      checks.push(String(spots.length))
      for (const { charge } of spots)
        checks.push(String(rowOf(charge.policy)), String(charge.cost * charge.policy.ticks.unit))
    }
    asked.push([...records.values()].flat())
  }
  const args = [String(ops.length), String(FIRST_ROW + table.length), ...table, ...checks]

  function rowOf(policy: Policy): number {
    const known = rows.get(policy)
    if (known !== undefined) return known
    const row = FIRST_ROW + rows.size * ROW
    rows.set(policy, row)
    const { unit, rate } = policy.ticks
    table.push(String(policyId(policy)), String(unit), String(rate), String(policy.capacity * unit))
    return row
  }

  return { script: 'consume', keys, args, read: (answer) => readLevels(answer, ops, asked) }
}

export function packResets(ops: readonly Op[], options: KeyOptions): Call {
  const keys: string[] = []
  const args: string[] = []
  for (const op of ops)
    for (const [key, spots] of recordsOf(op.charges, options)) {
      keys.push(key)
      args.push(String(spots.length), ...spots.map(({ charge }) => String(policyId(charge.policy))))
    }
  return {
    script: 'reset',
    keys,
    args,
    read: () => ops.map(() => ({ admitted: true, levels: [], healed: [] })),
  }
}

/** The charges of an op by the record that holds them. */
function recordsOf(charges: readonly Charge[], options: KeyOptions): Map<string, Spot[]> {
  const records = new Map<string, Spot[]>()
  charges.forEach((charge, index) => {
    const key = keyOf(charge.owner, options)
    const spots = records.get(key)
    if (spots === undefined) records.set(key, [{ charge, index }])
    else spots.push({ charge, index })
  })
  return records
}

function readLevels(answer: unknown, ops: readonly Op[], asked: readonly Spot[][]): readonly Reply[] {
  const numbers = Array.isArray(answer) ? answer.map(Number) : []
  const total = asked.reduce((sum, spots) => sum + spots.length, 0)
  if (numbers.length < 1 + total || !numbers.every(Number.isSafeInteger))
    throw new Error('Redis answered a script with something that it does not answer')
  const healed = new Set(numbers.slice(1 + total))
  let nth = 0
  return ops.map((op, i) => {
    const levels = new Array<number>(op.charges.length)
    const fresh: number[] = []
    let admitted = true
    for (const { charge, index } of asked[i] as Spot[]) {
      nth += 1
      const level = numbers[nth] as number
      levels[index] = level
      const { unit } = charge.policy.ticks
      if (level + charge.cost * unit > charge.policy.capacity * unit) admitted = false
      if (healed.has(nth)) fresh.push(index)
    }
    return { admitted, levels, healed: fresh }
  })
}
