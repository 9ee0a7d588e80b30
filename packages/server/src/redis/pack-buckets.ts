import type { Check } from '../call.js'
import { CheckReply } from '../check-reply.js'
import { doFit } from '../fit.js'
import { listOf } from '../list.js'
import type { Op, Reply } from '../store.js'
import { numbersIn } from './answer.js'
import { CheckCall } from './check-call.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { placesOf } from './places.js'
import { keyFor, type RowOf, unitsIn } from './row.js'

/**
 * Packs checks into one call of the script `buckets`, see its head for the form.
 * @returns undefined where one of them asks for more than buckets under one key
 */
export function packBuckets(ops: readonly Op[], options: KeyOptions, rowOf: RowOf): Call | undefined {
  if (!areOfBuckets(ops)) return undefined
  const keys = ops.map((op) => soleKey(op, options))
  if (!areAll(keys)) return undefined
  return new CheckCall('buckets', keys, argumentsFor(ops, rowOf), (answer) => readBuckets(answer, ops))
}

const FIRST_NAME = 48
/** What is needed by a check that charges nothing. */
const LOOK = '-1'
/** Where in a row stands what is left out of a plain one. */
const QUEUE = 5

function areOfBuckets(ops: readonly Op[]): ops is readonly Check[] {
  return ops.every(asksBuckets)
}

function areAll(keys: readonly (string | undefined)[]): keys is readonly string[] {
  return !keys.includes(undefined)
}

function asksBuckets(op: Op): op is Check {
  if (op.kind !== 'consume' && op.kind !== 'peek') return false
  if (op.blocks.length > 0 || op.once !== undefined || op.crowd !== undefined || op.trials !== undefined)
    return false
  return op.charges.every(({ policy }) => 'ticks' in policy)
}

/** The one key under which all that a check asks stands, if it is one. */
function soleKey({ charges }: Check, options: KeyOptions): string | undefined {
  const first = charges[0]
  if (first !== undefined && charges.length === 1) return keyFor(first.policy, first.owner, options)
  const places = placesOf(charges, options)
  return places.length === 1 ? places[0]?.key : undefined
}

/** Of checks that ask for the same, of whomever, the first. */
function shapesOf(checks: readonly Check[]): readonly Check[] {
  return checks.filter((check, i) => checks.findIndex((one) => hasShape(one, check)) === i)
}

function nameIn(shapes: readonly Check[], check: Check): string {
  return String.fromCharCode(FIRST_NAME + shapes.findIndex((shape) => hasShape(shape, check)))
}

/** Whether two checks ask for the same, of whomever. */
function hasShape(one: Check, other: Check): boolean {
  if (one.kind !== other.kind || one.charges.length !== other.charges.length) return false
  for (let i = 0; i < one.charges.length; i += 1) {
    const mine = one.charges[i]
    const theirs = other.charges[i]
    if (mine?.policy !== theirs?.policy || mine?.cost !== theirs?.cost) return false
  }
  return true
}

function argumentsFor(checks: readonly Check[], rowOf: RowOf): readonly string[] {
  const shapes = shapesOf(checks)
  const shape = shapes[0]
  if (shape !== undefined && shapes.length === 1 && shape.charges.length === 1) return wordsOf(shape, rowOf)
  // Where there is one shape, it need not be said who has it.
  const shaped = shapes.length === 1 ? '' : checks.map((check) => nameIn(shapes, check)).join('')
  const args = listOf<string[]>('', String(shapes.length), shaped)
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
  for (const { policy, cost } of charges) if (cost !== 1 || !rowOf(policy).plain) return false
  return true
}

/** The arguments where all checks ask the same one bucket. */
function wordsOf(check: Check, rowOf: RowOf): readonly string[] {
  const charge = check.charges[0]
  if (charge !== undefined && isPlain(check, rowOf)) return rowOf(charge.policy).short
  const args = listOf<string[]>()
  tell(check, false, rowOf, args)
  return args
}

/** An argument costs Redis a third of what reading a key does, so there are no more than are needed. */
function tell({ kind, charges }: Check, short: boolean, rowOf: RowOf, args: string[]): void {
  for (const { policy, cost } of charges) {
    const { words, short: few } = rowOf(policy)
    for (const word of few) args.push(word)
    if (short) continue
    args.push(kind === 'consume' ? String(unitsIn(policy, cost)) : LOOK)
    for (let i = QUEUE; i < words.length; i += 1) args.push(words[i] as string)
  }
}

function readBuckets(answer: unknown, checks: readonly Check[]): readonly Reply[] {
  let total = 1
  for (const { charges } of checks) total += charges.length
  // The time alone: nothing is in use.
  const isTime = !Array.isArray(answer)
  const numbers = isTime ? numbersIn(listOf(answer), 1) : numbersIn(answer, total)
  const healed = numbers.length <= total ? undefined : new Set(numbers.slice(total))
  const nowUs = numbers[0] ?? 0
  let from = 1
  return checks.map(({ charges }) => {
    const first = from
    from += charges.length
    const readings = charges.map((_, i) => listOf(isTime ? 0 : (numbers[first + i] ?? 0)))
    const admitted = doFit(charges, readings)
    const fresh = healed && charges.map((_, i) => i).filter((i) => healed.has(first + i))
    return new CheckReply(nowUs, admitted, readings, 0, false, fresh)
  })
}
