import { trim } from './field-value.js'

/**
 * The numbers of a text that parts them by commas, as some libraries join the lines of a field that
 * should have had one: at least one, and all in the form asked for.
 */
export function plainNumbers(text: string, form: RegExp): readonly number[] | undefined {
  const numbers: number[] = []
  for (const part of text.split(',')) {
    const number = trim(part)
    if (!form.test(number)) return undefined
    numbers.push(Number(number))
  }
  return numbers
}
