import { mostInUse } from '../algorithm/debt.js'
import type { Reading } from '../algorithm/meter.js'
import type { Check } from '../call.js'
import { doFit } from '../fit.js'
import type { Op, Reply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { placesOf } from './places.js'
import { keyFor, type RowOf, unitsIn } from './row.js'

/**
 * Packs checks into one call of the script `buckets`, see its head for the form.
 * @returns undefined where one of them asks for more than buckets under one key
 */
export function packBuckets(ops: readonly Op[], options: KeyOptions, rowOf: RowOf): Call | undefined {
  const keys: string[] = []
  const shapes: Check[] = []
  let shaped = ''
  for (const op of ops) {
    if (!asksBuckets(op)) return undefined
    const key = soleKey(op, options)
    if (key === undefined) return undefined
    keys.push(key)
    let shape = shapes.findIndex((known) => hasShape(known, op))
    if (shape < 0) shape = shapes.push(op) - 1
    shaped += String.fromCharCode(FIRST_NAME + shape)
  }
  const args = argumentsFor(shapes, shaped, rowOf)
  return { script: 'buckets', keys, args, read: (answer) => readBuckets(answer, ops as readonly Check[]) }
}

const FIRST_NAME = 48
/** What is needed by a check that charges nothing. */
const LOOK = '-1'

function asksBuckets(op: Op): op is Check {
  if (op.kind !== 'consume' && op.kind !== 'peek') return false
  if (op.blocks.length > 0 || op.once !== undefined || op.crowd !== undefined || op.trials !== undefined)
    return false
  return op.charges.every(({ policy }) => 'ticks' in policy)
}

/** The one key under which all that a check asks stands, if it is one. */
function soleKey({ charges }: Check, options: KeyOptions): string | undefined {
  const [first] = charges
  if (first !== undefined && charges.length === 1) return keyFor(first.policy, first.owner, options)
  const places = placesOf(charges, options)
  return places.length === 1 ? places[0]?.key : undefined
}

/** Whether two checks ask for the same, of whomever. */
function hasShape(one: Check, other: Check): boolean {
  if (one.kind !== other.kind || one.charges.length !== other.charges.length) return false
  for (let i = 0; i < one.charges.length; i += 1) {
    const [mine, theirs] = [one.charges[i], other.charges[i]]
    if (mine?.policy !== theirs?.policy || mine?.cost !== theirs?.cost) return false
  }
  return true
}

function argumentsFor(shapes: readonly Check[], shaped: string, rowOf: RowOf): readonly string[] {
  const args: string[] = []
  const [shape] = shapes
  if (shape !== undefined && shapes.length === 1 && shape.charges.length === 1) {
    tell(shape, isPlain(shape, rowOf), rowOf, args)
    return args
  }
  // Where there is one shape, it need not be said who has it.
  args.push('', String(shapes.length), shapes.length === 1 ? '' : shaped)
  for (const each of shapes) {
    const short = isPlain(each, rowOf)
    args.push(String(each.kind === 'consume' ? each.charges.length : -each.charges.length), short ? '4' : '7')
    tell(each, short, rowOf, args)
  }
  return args
}

/** Whether a check takes one unit of each policy, and all policies are as they mostly are: then no more need be said. */
function isPlain({ kind, charges }: Check, rowOf: RowOf): boolean {
  if (kind !== 'consume') return false
  for (const { policy, cost } of charges) {
    const [, , , , most, queue, bound] = rowOf(policy)
    if (cost !== 1 || queue !== most || Number(bound) !== mostInUse(Number(most), Number(most))) return false
  }
  return true
}

/** An argument costs Redis a third of what reading a key does, so there are no more than are needed. */
function tell({ kind, charges }: Check, short: boolean, rowOf: RowOf, args: string[]): void {
  for (const { policy, cost } of charges) {
    const [id = '', , unit = '', rate = '', most = '', queue = '', bound = ''] = rowOf(policy)
    args.push(id, unit, rate, most)
    if (!short) args.push(kind === 'consume' ? String(unitsIn(policy, cost)) : LOOK, queue, bound)
  }
}

function readBuckets(answer: unknown, checks: readonly Check[]): readonly Reply[] {
  const total = checks.reduce((sum, { charges }) => sum + charges.length, 1)
  // The time alone: nothing is in use.
  const isTime = Array.isArray(answer) && answer.length === 1
  const numbers = numbersIn(answer, isTime ? 1 : total)
  const healed = numbers.length <= total ? undefined : new Set(numbers.slice(total))
  const nowUs = numbers[0] ?? 0
  let word = 1
  return checks.map(({ charges }) => {
    const readings: Reading[] = []
    const fresh: number[] = []
    for (let index = 0; index < charges.length; index += 1) {
      readings.push([numbers[word] ?? 0])
      if (healed?.has(word)) fresh.push(index)
      word += 1
    }
    const admitted = doFit(charges, readings)
    return { nowUs, admitted, blockedUs: 0, replayed: false, readings, healed: fresh }
  })
}
