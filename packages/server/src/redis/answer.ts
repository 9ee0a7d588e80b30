import { changedReply, type Reply } from '../store.js'

/** The whole numbers of a script's answer, at least so many. @throws Error when it is anything else */
export function numbersIn(answer: unknown, least: number): readonly number[] {
  const numbers: readonly unknown[] = Array.isArray(answer) ? answer : []
  if (numbers.length < least) throw notAnAnswer()
  if (numbers.every(Number.isSafeInteger)) return numbers as readonly number[]
  return numbers.map(wholeNumber)
}

/**
 * One reply per op from an answer that says, after the time, of each of its items whether it was changed.
 * @param items how many items each op has
 */
export function repliesIn(answer: unknown, items: readonly number[]): readonly Reply[] {
  const total = items.reduce((sum, own) => sum + own, 1)
  const numbers = numbersIn(answer, total)
  let at = 1
  return items.map((own) => {
    const changed = numbers.slice(at, at + own)
    at += own
    return changedReply(numbers[0] ?? 0, changed.includes(1))
  })
}

/** Some clients answer numbers as text. */
function wholeNumber(value: unknown): number {
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value
  if (!Number.isSafeInteger(number)) throw notAnAnswer()
  return number as number
}

function notAnAnswer(): Error {
  return new Error('Redis answered a script with something that it does not answer')
}
