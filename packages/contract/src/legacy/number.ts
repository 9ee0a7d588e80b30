import { largestInteger } from '../check.js'
import { type FieldValue, joinLines } from '../field-value.js'
import { plainNumbers } from '../plain-number.js'
import { readList } from '../structured-field.js'

/** The one number of a field. */
export type FieldNumber =
  | { status: 'absent' }
  | { status: 'ignored'; reason: string }
  | { status: 'number'; value: number }

/** Reads an Item that is an Integer no less than 0; its parameters mean nothing (draft-06 section 3). */
export function readInteger(value: FieldValue): FieldNumber {
  const list = readList(value)
  if (list.status !== 'list') return list
  const [item, second] = list.items
  if (item === undefined || second !== undefined) {
    return { status: 'ignored', reason: `expected one Item, got ${list.items.length}` }
  }
  const number = item.count()
  return item.fault === undefined
    ? { status: 'number', value: number }
    : { status: 'ignored', reason: item.fault }
}

/**
 * Reads a plain number with or without a fraction, as no standard binds a vendor. Of several, from a
 * proxy that states its own beside the server's, the stricter is to be chosen.
 */
export function readNumber(value: FieldValue, stricter: (one: number, other: number) => number): FieldNumber {
  const field = joinLines(value)
  if (field.status !== 'text') return field
  const number = plainNumbers(field.text, /^\d+(?:\.\d+)?$/)?.reduce((one, other) => stricter(one, other))
  if (number !== undefined && number <= largestInteger) return { status: 'number', value: number }
  return { status: 'ignored', reason: `expected a number from 0 to ${largestInteger}` }
}
