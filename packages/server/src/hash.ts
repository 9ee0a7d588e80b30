const OFFSET = 0xcbf29ce484222325n
const PRIME = 0x100000001b3n
const MASK = 0xffffffffffffffffn

/**
 * A stable 64-bit hash (FNV-1a) of a text, over its UTF-16 units. It names things that are few and
 * not secret (policies, scopes); keys of identities are never shortened by it.
 */
export function hash64(text: string): bigint {
  let hash = OFFSET
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    hash = ((hash ^ BigInt(unit & 0xff)) * PRIME) & MASK
    hash = ((hash ^ BigInt(unit >> 8)) * PRIME) & MASK
  }
  return hash
}

/** The hash as 8 bytes, most significant first. */
export function hashBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, hash64(text))
  return bytes
}
