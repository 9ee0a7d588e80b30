import { sha256 } from './sha256.js'

/** What is longer is told by its beginning and a digest; the two together are longer, so no other text is that. */
const LONGEST = 128
const SHOWN = 80
/** 192 bits. */
const DIGEST = 48

/**
 * A text that a caller chose, as it is kept and told: itself, or when it is long its beginning and a digest of all of it.
 * So what is bounded by its number is bounded in bytes, whoever comes with names of 8 kB each.
 */
export function short(text: string): string {
  return text.length <= LONGEST ? text : shortened(text)
}

function shortened(text: string): string {
  // A text made anew: a part of a longer one would keep all of it in memory.
  return ` ${text.slice(0, SHOWN)}…${sha256(text).slice(0, DIGEST)}`.slice(1)
}

/** A record of such texts. The record itself where none of them is long. */
export function shortValues(
  values: Readonly<Record<string, string>>,
  kinds: readonly string[],
): Readonly<Record<string, string>> {
  for (let i = 0; i < kinds.length; i += 1)
    if ((values[kinds[i] as string]?.length ?? 0) > LONGEST) return copied(values, kinds)
  return values
}

function copied(
  values: Readonly<Record<string, string>>,
  kinds: readonly string[],
): Readonly<Record<string, string>> {
  const own = kinds.filter((kind) => Object.hasOwn(values, kind))
  return Object.fromEntries(own.map((kind) => [kind, short(values[kind] as string)]))
}
