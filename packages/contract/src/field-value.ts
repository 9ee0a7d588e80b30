/** A field as HTTP libraries hand it over: the joined value, one value per line, or nothing. */
export type FieldValue = string | readonly string[] | null | undefined

/**
 * The longest value that is read, in characters. It leaves room for every minimum of RFC 9651
 * section 3 taken alone, and is four times what Node accepts for all fields of an answer together.
 */
export const longestField = 65_536

export type FieldText =
  | { status: 'absent' }
  | { status: 'ignored'; reason: string }
  | { status: 'text'; text: string }

/** Joins the lines of a field in order, as RFC 9110 section 5.3 has it. Never throws. */
export function joinLines(value: FieldValue): FieldText {
  if (value === null || value === undefined) return { status: 'absent' }
  try {
    return joinEach(value)
  } catch {
    // A revoked Proxy, or a getter that throws.
    return { status: 'ignored', reason: 'Expected a string or an array of strings, got what cannot be read' }
  }
}

function joinEach(value: string | readonly string[]): FieldText {
  const lines: readonly unknown[] = Array.isArray(value) ? value : [value]
  const texts: string[] = []
  let length = 0
  for (const line of lines) {
    if (typeof line !== 'string')
      return { status: 'ignored', reason: `Expected a string, got ${typeof line}` }
    length += line.length + 2
    if (length - 2 > longestField)
      return { status: 'ignored', reason: `Expected at most ${longestField} characters` }
    texts.push(line)
  }
  if (texts.every(isBlank)) return { status: 'absent' }
  return { status: 'text', text: texts.join(', ') }
}

/** Takes the optional whitespace of HTTP off both ends, which is less than `String.trim` does. */
export function trim(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text, start)) start += 1
  while (end > start && isSpace(text, end - 1)) end -= 1
  return text.slice(start, end)
}

function isSpace(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t'
}

function isBlank(text: string): boolean {
  return /^[ \t]*$/.test(text)
}
