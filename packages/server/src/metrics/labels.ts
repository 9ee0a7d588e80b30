const LONGEST = 128
const OTHER = 'other'

/**
 * Keeps the values of a label few: the first `most` that come are kept, what comes later is `other`. Long ones are cut,
 * and told apart by their first 128 characters only.
 */
export function createLabel(most: number): (value: string) => string {
  const known = new Map<string, string>()
  return (value) => {
    const short = value.length > LONGEST ? value.slice(0, LONGEST) : value
    const label = known.get(short)
    if (label !== undefined) return label
    if (known.size >= most) return OTHER
    // A text made anew: a part of a longer one would keep all of it in memory.
    const own = ` ${short}`.slice(1)
    const fresh = printable(own)
    known.set(own, fresh)
    return fresh
  }
}

/** A text in which nothing hides: what has no shape of its own, or turns the direction of others, is written as `\u{…}`. */
export function printable(text: string): string {
  return text.replace(/[\\\p{C}\p{Zl}\p{Zp}]/gu, (found) =>
    found === '\\' ? '\\\\' : `\\u{${found.codePointAt(0)?.toString(16)}}`,
  )
}
