const largest = 999_999_999_999_999

/** The plain numbers of a field, several where a proxy put its own beside the server's; undefined for any other text. */
export function numbers(text: string): readonly number[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  if (!parts.every((part) => /^\d{1,15}(?:\.\d{1,15})?$/.test(part))) return undefined
  return parts.map(Number)
}

/** The one number of a field: the strictest where it has several, which is the least. */
export function number(text: string | undefined): number | undefined {
  const listed = text === undefined ? undefined : numbers(text)
  return listed === undefined ? undefined : Math.min(largest, ...listed)
}
