/** The whole numbers of a script's answer, at least so many. @throws Error when it is anything else */
export function numbersIn(answer: unknown, least: number): readonly number[] {
  const numbers = Array.isArray(answer) ? answer.map(wholeNumber) : []
  if (numbers.length < least || !numbers.every(Number.isSafeInteger))
    throw new Error('Redis answered a script with something that it does not answer')
  return numbers
}

/** Some clients answer numbers as text. */
function wholeNumber(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : Number.NaN
}
