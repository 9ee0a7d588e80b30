import { createHash } from 'node:crypto'
import type { BucketOwner } from '../store.js'

/** Raised when what is stored under a key changes its form, so that no release reads another's records. */
const ENCODING = 1
const LONGEST = 64
/** What the encoding leaves as it is: most identities. */
const PLAIN = /^[\w.~!*'()-]{1,64}$/

export interface KeyOptions {
  readonly prefix: string
  /** Hash every partition value, so that identities cannot be read from the keys. */
  readonly hashPartitions: boolean
}

/**
 * The key of a partition's record: `rl1:{client:42}`, and `rl1:{client:42}:GET%20/orders` for one scope. Whatever
 * the parts hold, no two partitions share a key and the tag in braces is theirs alone, so that all records of one
 * partition live on one node.
 */
export function keyOf({ kind, value, scope, shard }: BucketOwner, options: KeyOptions): string {
  const whole = options.hashPartitions ? digest(value) : part(value)
  // Within an encoded part there is no `#`, and no digest is as short: no partition is taken for a shard of another.
  const partition = shard === undefined ? whole : `${whole}#${shard}`
  const tag = `${options.prefix}${ENCODING}:{${kind}:${partition}}`
  return scope === undefined ? tag : `${tag}:${part(scope)}`
}

/**
 * A part of a key: letters, digits and harmless signs as they are, the rest percent-encoded; the digest where that is
 * long or where the text is no well-formed UTF-16 (which the encoding could not tell apart). An encoded part never
 * begins with `#`, so it is never taken for a digest.
 */
export function part(text: string): string {
  if (PLAIN.test(text)) return text
  if (text.length > LONGEST) return digest(text)
  try {
    const encoded = encodeURIComponent(text)
    return encoded.length > LONGEST ? digest(text) : encoded
  } catch {
    return digest(text)
  }
}

/** 192 bits of SHA-256 over the UTF-16 units, which are all there even where they pair up to nothing. */
function digest(text: string): string {
  return `#${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url').slice(0, 32)}`
}
