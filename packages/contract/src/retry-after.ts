import { type FieldValue, joinLines, trim } from './field-value.js'
import { answeredAt, parseHttpDate } from './http-date.js'
import { chosenNumber, plain, secondsBetween, whole } from './numbers.js'

/** What a date in `Retry-After` is counted from. */
export interface RetryAfterContext {
  /** The instant to count from when the answer has no usable `Date`. @default the current time */
  now?: Date
  /** The answer's own `Date` field: counting from it cancels the difference between the two clocks. */
  date?: string
}

/** Anything longer is taken for this much, as RFC 9111 section 1.2.2 has it: 68 years. */
const longestSeconds = 2_147_483_648

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): whole seconds from the answer on, or a date. A date
 * in the past is 0, part of a second counts as a whole one. Several numbers, as some libraries join
 * repeated lines, give the largest. Never throws.
 *
 * @returns seconds from 0 to 2147483648, or undefined for anything else.
 */
export function parseRetryAfter(value: FieldValue, context: RetryAfterContext = {}): number | undefined {
  const field = joinLines(value)
  if (field.status !== 'read') return undefined
  const listed = chosenNumber(field.value, whole, Math.max)
  if (listed !== undefined) return Math.min(listed, longestSeconds)
  const now = context.now ?? new Date()
  const at = parseHttpDate(trim(field.value), now)
  return at === undefined ? undefined : secondsBetween(answeredAt(context.date, now), at, longestSeconds)
}

/**
 * Reads `retry-after-ms`, the hint that says the wait of `Retry-After` in milliseconds: a plain number,
 * with or without a fraction. It may only shorten the wait of a server that sends `Retry-After` as
 * well. Several numbers give the largest. Never throws.
 *
 * @returns milliseconds from 0 to 2147483648000, or undefined for anything else.
 */
export function parseRetryAfterMs(value: FieldValue): number | undefined {
  const field = joinLines(value)
  const listed = field.status === 'read' ? chosenNumber(field.value, plain, Math.max) : undefined
  return listed === undefined ? undefined : Math.min(listed, longestSeconds * 1000)
}
