import { trim } from './field-value.js'

/**
 * One of the numbers of a text that parts them by commas, as some libraries join the lines of a field
 * that should have had one: there must be one at least, and all in the form asked for.
 */
export function chosenNumber(
  text: string,
  form: RegExp,
  choose: (one: number, other: number) => number,
): number | undefined {
  const parts = text.split(',').map(trim)
  if (!parts.every((part) => form.test(part))) return undefined
  return parts.map(Number).reduce((one, other) => choose(one, other))
}

export const whole: RegExp = /^\d+$/
/** With or without a fraction. */
export const plain: RegExp = /^\d+(?:\.\d+)?$/

/**
 * Whole seconds from one instant to another, rounded up, in milliseconds since 1970: from 0 to `most`,
 * or undefined where one of the two is not known.
 */
export function secondsBetween(sinceMs: number, atMs: number, most: number): number | undefined {
  const seconds = Math.ceil((atMs - sinceMs) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), most)
}
