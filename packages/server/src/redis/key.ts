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
 * partition live on one node. One that is at home with another lives there: `rl1:{account:7}/client:42`.
 */
export function keyOf(owner: BucketOwner, options: KeyOptions): string {
  const { home, scope } = owner
  const tag = `${options.prefix}${ENCODING}:{${tagOf(owner, options)}}`
  const key =
    home === undefined || isAtHome(owner, home) ? tag : `${tag}/${named(owner.kind, owner.value, options)}`
  return scope === undefined ? key : `${key}:${part(scope)}`
}

/** What stands in the braces of an owner's keys, by which a cluster finds their node. */
export function tagOf({ kind, value, home, shard }: BucketOwner, options: KeyOptions): string {
  if (home !== undefined) return named(home.kind, home.value, options)
  const whole = named(kind, value, options)
  // Within an encoded part there is no `#`, and no digest is as short: no partition is taken for a shard of another.
  return shard === undefined ? whole : `${whole}#${shard}`
}

function isAtHome({ kind, value }: BucketOwner, home: NonNullable<BucketOwner['home']>): boolean {
  return kind === home.kind && value === home.value
}

function named(kind: string, value: string, { hashPartitions }: KeyOptions): string {
  return `${kind}:${hashPartitions ? digest(value) : part(value)}`
}

/**
 * A part of a key: letters, digits and harmless signs as they are, the rest percent-encoded; the digest where that is
 * long or where the text is no well-formed UTF-16 (which the encoding could not tell apart). An encoded part never
 * begins with `#`, so it is never taken for a digest.
 */
function part(text: string): string {
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
export function digest(text: string): string {
  return `#${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url').slice(0, 32)}`
}
