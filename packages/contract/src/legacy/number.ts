import { largestInteger } from '../check.js'
import { type FieldValue, ignored, joinLines, type Read } from '../field-value.js'
import { chosenNumber, plain } from '../numbers.js'
import { type FieldItem, readList } from '../structured-field.js'

/** Reads an Item that is an Integer no less than 0; its parameters mean nothing (draft-06 section 3). */
export function countOf(item: FieldItem | undefined): Read<number> {
  if (item === undefined) return { status: 'absent' }
  const value = item.count()
  return item.fault === undefined ? { status: 'read', value } : ignored(item.fault)
}

/** Reads a field that is one such Item. */
export function readInteger(field: FieldValue): Read<number> {
  const list = readList(field)
  if (list.status !== 'read') return list
  const { length, 0: item } = list.value
  return length === 1 ? countOf(item) : ignored(`expected one Item, got ${length}`)
}

/**
 * Reads a plain number with or without a fraction, as no standard binds a vendor. Of several, from a
 * proxy that states its own beside the server's, the stricter is to be chosen.
 */
export function readNumber(
  value: FieldValue,
  stricter: (one: number, other: number) => number,
): Read<number> {
  const field = joinLines(value)
  if (field.status !== 'read') return field
  const number = chosenNumber(field.value, plain, stricter)
  return number !== undefined && number <= largestInteger
    ? { status: 'read', value: number }
    : ignored(`expected a number from 0 to ${largestInteger}`)
}
