/** A field as HTTP libraries hand it over: the joined value, one value per line, or nothing. */
export type FieldValue = string | readonly string[] | null | undefined

/**
 * The longest value that is read, in characters. It leaves room for every minimum of RFC 9651
 * section 3 taken alone, and is four times what Node accepts for all fields of an answer together.
 */
export const longestField = 65_536

/** What a field came to on the way to what it says. */
export type Read<T> = { status: 'absent' } | Ignored | { status: 'read'; value: T }

interface Ignored {
  status: 'ignored'
  reason: string
}

export function ignored(reason: string): Ignored {
  return { status: 'ignored', reason }
}

/** Joins the lines of a field in order, as RFC 9110 section 5.3 has it. Never throws. */
export function joinLines(value: FieldValue): Read<string> {
  if (value === null || value === undefined) return { status: 'absent' }
  try {
    return joinEach(value)
  } catch {
    // A revoked Proxy, or a getter that throws.
    return ignored('Expected a string, got what cannot be read')
  }
}

function joinEach(value: string | readonly string[]): Read<string> {
  const lines: readonly unknown[] = Array.isArray(value) ? value : [value]
  let text: string | undefined
  let blank = true
  for (const line of lines) {
    if (typeof line !== 'string') return ignored(`Expected a string, got ${typeof line}`)
    text = text === undefined ? line : `${text}, ${line}`
    if (text.length > longestField) return ignored(`Expected at most ${longestField} characters`)
    blank &&= /^[ \t]*$/.test(line)
  }
  return text === undefined || blank ? { status: 'absent' } : { status: 'read', value: text }
}

/** Takes the optional whitespace of HTTP off both ends, which is less than `String.trim` does. */
export function trim(text: string): string {
  let start = 0
  let end = text.length
  while (isSpace(text[start])) start += 1
  while (end > start && isSpace(text[end - 1])) end -= 1
  return text.slice(start, end)
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}
