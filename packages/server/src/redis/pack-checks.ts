import { meterOf } from '../algorithm/algorithms.js'
import type { Reading } from '../algorithm/meter.js'
import type { Check } from '../call.js'
import type { Charge, Op, Reply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { type Place, placesOf } from './places.js'
import { blockKey, onceKey, type RowOf, wordsOf } from './row.js'
import { createShapes } from './shape.js'

interface Asked {
  readonly op: Check
  readonly places: readonly Place[]
}

/** Packs checks into one call of the script `consume`; see its head for the form. */
export function packChecks(ops: readonly Op[], options: KeyOptions, rowOf: RowOf): Call {
  const shapes = createShapes(rowOf)
  const keys: string[] = []
  const leases: string[] = []
  const asked: Asked[] = []
  let shaped = ''
  for (const op of ops) {
    if (op.kind !== 'consume' && op.kind !== 'peek') continue
    const places = placesOf(op.charges, options)
    for (const owner of op.blocks) keys.push(blockKey(owner, options))
    if (op.kind === 'consume') {
      if (op.once !== undefined) keys.push(onceKey(op.once.owner, op.once.id, options))
      if (op.lease !== '') leases.push(op.lease)
    }
    for (const { key } of places) keys.push(key)
    shaped += shapes.nameOf(op, places)
    asked.push({ op, places })
  }
  return {
    script: 'consume',
    keys,
    args: shapes.argumentsFor(shaped, leases),
    read: (answer) => readChecks(answer, asked),
  }
}

function readChecks(answer: unknown, asked: readonly Asked[]): readonly Reply[] {
  const total = asked.reduce((sum, each) => sum + wordsFor(each), 1)
  const numbers = numbersIn(answer, total)
  const healed = numbers.length === total ? undefined : new Set(numbers.slice(total))
  const nowUs = numbers[0] ?? 0
  let nth = 0
  let word = 1

  function readCharges(charges: readonly Charge[], places: readonly Place[]) {
    const readings = new Array<Reading>(charges.length)
    const fresh: number[] = []
    let fits = true
    for (const { indexes } of places)
      for (const index of indexes) {
        const { policy, cost } = charges[index] as Charge
        const reading = numbers.slice(word, word + wordsOf(policy))
        nth += 1
        word += reading.length
        readings[index] = reading
        if (!meterOf(policy).fits(reading, cost, policy)) fits = false
        if (healed?.has(nth)) fresh.push(index)
      }
    return { readings, fits, healed: fresh }
  }

  return asked.map(({ op, places }) => {
    const blocked = op.blocks.length === 0 ? 0 : (numbers[word++] ?? 0)
    const replayed = op.kind === 'consume' && op.once !== undefined && numbers[word++] === 1
    const { readings, fits, healed: fresh } = readCharges(op.charges, places)
    return {
      nowUs,
      admitted: blocked === 0 && (fits || replayed),
      blockedUs: blocked < 0 ? Number.POSITIVE_INFINITY : blocked,
      replayed,
      readings,
      healed: fresh,
    }
  })
}

/** How many numbers the script answers for a check. */
function wordsFor({ op }: Asked): number {
  let words = op.blocks.length > 0 ? 1 : 0
  if (op.kind === 'consume' && op.once !== undefined) words += 1
  for (const { policy } of op.charges) words += wordsOf(policy)
  return words
}
