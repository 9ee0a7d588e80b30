import type { Reading } from '../algorithm/meter.js'
import type { Check } from '../call.js'
import { doFit } from '../fit.js'
import type { Charge, Op, Reply, TrialReply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { crowdsOf, type Place, placesOf } from './places.js'
import { blockKey, onceKey, type RowOf, wordsOf } from './row.js'
import { createShapes } from './shape.js'
import { chargesIn } from './trials.js'

interface Asked {
  readonly op: Check
  /** Those of its trials too. */
  readonly charges: readonly Charge[]
  readonly places: readonly Place[]
  readonly crowds: readonly Place[]
}

const NONE: readonly Place[] = []

/** Packs checks into one call of the script `consume`; see its head for the form. */
export function packChecks(ops: readonly Op[], options: KeyOptions, rowOf: RowOf): Call {
  const shapes = createShapes(rowOf)
  const keys: string[] = []
  const names: string[] = []
  const asked: Asked[] = []
  let shaped = ''
  for (const op of ops) {
    if (op.kind !== 'consume' && op.kind !== 'peek') continue
    const charges = chargesIn(op)
    const places = placesOf(charges, options)
    for (const owner of op.blocks) keys.push(blockKey(owner, options))
    if (op.once !== undefined) keys.push(onceKey(op.once.owner, op.once.id, options))
    if (op.kind === 'consume' && op.lease !== '') names.push(op.lease)
    for (const { key } of places) keys.push(key)
    const crowds = op.crowd === undefined ? NONE : crowdsOf(op.charges, options)
    if (op.crowd !== undefined && crowds.length > 0) names.push(String(op.crowd.instance))
    for (const { key } of crowds) keys.push(key)
    shaped += shapes.nameOf(op, places, crowds)
    asked.push({ op, charges, places, crowds })
  }
  return {
    script: 'consume',
    keys,
    args: shapes.argumentsFor(shaped, names),
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

  function readCharges({ charges, places }: Asked) {
    const readings = new Array<Reading>(charges.length)
    const fresh: number[] = []
    for (const { indexes } of places)
      for (const index of indexes) {
        const { policy } = charges[index] as Charge
        const reading = numbers.slice(word, word + wordsOf(policy))
        nth += 1
        word += reading.length
        readings[index] = reading
        if (healed?.has(nth)) fresh.push(index)
      }
    return { readings, healed: fresh }
  }

  function readCrowds(charges: readonly Charge[], crowds: readonly Place[]): readonly number[] {
    const instances = charges.map(() => 0)
    for (const { indexes } of crowds) for (const index of indexes) instances[index] = numbers[word++] ?? 0
    return instances
  }

  return asked.map((each) => {
    const { op, charges, crowds } = each
    const blocked = op.blocks.length === 0 ? 0 : (numbers[word++] ?? 0)
    const before = op.once === undefined ? 0 : numbers[word++]
    const replayed = before === ADMITTED && blocked === 0
    const { readings, healed: fresh } = readCharges(each)
    const fits = doFit(charges, readings, 0, op.charges.length)
    const reply: Reply = {
      nowUs,
      admitted: blocked === 0 && (fits || replayed),
      blockedUs: blocked < 0 ? Number.POSITIVE_INFINITY : blocked,
      replayed,
      readings,
      healed: fresh,
    }
    if (op.crowd === undefined && op.trials === undefined) return reply
    const instances = op.crowd === undefined ? undefined : { instances: readCrowds(op.charges, crowds) }
    if (op.trials === undefined) return { ...reply, ...instances }
    const charging = op.kind === 'consume' && blocked === 0
    const may = { beside: charging && fits && !replayed, instead: charging && before === 0 }
    return {
      ...reply,
      ...instances,
      readings: readings.slice(0, op.charges.length),
      trials: readTrials(each, readings, may),
    }
  })
}

/** What the script answers of an id under which a call was admitted before. */
const ADMITTED = 1

function readTrials(
  { op, charges }: Asked,
  readings: readonly Reading[],
  may: { readonly beside: boolean; readonly instead: boolean },
): readonly TrialReply[] {
  let from = op.charges.length
  return (op.trials ?? []).map(({ mode, charges: own }) => {
    const to = from + own.length
    const taken = may[mode] && doFit(charges, readings, from, to)
    const reply = { readings: readings.slice(from, to), taken }
    from = to
    return reply
  })
}

/** How many numbers the script answers for a check. */
function wordsFor({ op, charges, crowds }: Asked): number {
  let words = op.blocks.length > 0 ? 1 : 0
  if (op.once !== undefined) words += 1
  for (const { policy } of charges) words += wordsOf(policy)
  for (const { indexes } of crowds) words += indexes.length
  return words
}
