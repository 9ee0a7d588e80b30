import type { Reading } from '../algorithm/meter.js'
import type { Check } from '../call.js'
import { CheckReply, Tried } from '../check-reply.js'
import { doFit } from '../fit.js'
import { listOf } from '../list.js'
import type { Charge, Op, Reply, TrialReply } from '../store.js'
import { numbersIn } from './answer.js'
import { CheckCall } from './check-call.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { crowdsOf, type Place, placesOf } from './places.js'
import { blockKey, onceKey, type RowOf, wordsOf } from './row.js'
import { Shapes } from './shape.js'
import { chargesIn } from './trials.js'

/** A class, since there may be one for each call: see `listOf`. */
class Asked {
  readonly op: Check
  /** Those of its trials too. */
  readonly charges: readonly Charge[]
  readonly places: readonly Place[]
  readonly crowds: readonly Place[]

  constructor(op: Check, charges: readonly Charge[], places: readonly Place[], crowds: readonly Place[]) {
    this.op = op
    this.charges = charges
    this.places = places
    this.crowds = crowds
  }
}

const NONE: readonly Place[] = []
const NOTHING: Reading = []

/** Packs checks into one call of the script `consume`; see its head for the form. */
export function packChecks(ops: readonly Op[], options: KeyOptions, rowOf: RowOf): Call {
  const shapes = new Shapes(rowOf)
  const keys = listOf<string[]>()
  const names = listOf<string[]>()
  const asked = listOf<Asked[]>()
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
    asked.push(new Asked(op, charges, places, crowds))
  }
  const args = shapes.argumentsFor(shaped, names)
  return new CheckCall('consume', keys, args, (answer) => readChecks(answer, asked))
}

function readChecks(answer: unknown, asked: readonly Asked[]): readonly Reply[] {
  const total = asked.reduce((sum, each) => sum + wordsFor(each), 1)
  const numbers = numbersIn(answer, total)
  const healed = numbers.length === total ? undefined : new Set(numbers.slice(total))
  const nowUs = numbers[0] ?? 0
  let nth = 0
  let word = 1

  /** Their readings, and the positions of those that were begun afresh. */
  function readCharges({ charges, places }: Asked, fresh: number[]): readonly Reading[] {
    const readings = charges.map((): Reading => NOTHING)
    for (const { indexes } of places)
      for (const index of indexes) {
        const { policy } = charges[index] as Charge
        const reading = numbers.slice(word, word + wordsOf(policy))
        nth += 1
        word += reading.length
        readings[index] = reading
        if (healed?.has(nth)) fresh.push(index)
      }
    return readings
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
    const fresh = listOf<number[]>()
    const readings = readCharges(each, fresh)
    const fits = doFit(charges, readings, 0, op.charges.length)
    const reply = new CheckReply(
      nowUs,
      blocked === 0 && (fits || replayed),
      op.trials === undefined ? readings : readings.slice(0, op.charges.length),
      blocked < 0 ? Number.POSITIVE_INFINITY : blocked,
      replayed,
      fresh,
    )
    if (op.crowd !== undefined) reply.instances = readCrowds(op.charges, crowds)
    const charging = op.kind === 'consume' && blocked === 0
    const trials = readTrials(each, readings, charging && fits && !replayed, charging && before === 0)
    if (trials !== undefined) reply.trials = trials
    return reply
  })
}

/** What the script answers of an id under which a call was admitted before. */
const ADMITTED = 1

function readTrials(
  { op, charges }: Asked,
  readings: readonly Reading[],
  beside: boolean,
  instead: boolean,
): readonly TrialReply[] | undefined {
  let to = op.charges.length
  return op.trials?.map(({ mode, charges: own }) => {
    const from = to
    to += own.length
    const may = mode === 'beside' ? beside : instead
    return new Tried(readings.slice(from, to), may && doFit(charges, readings, from, to))
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
