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

/**
 * A text as a number from 1 to 2^48 - 1, quickly: two 32-bit hashes side by side. For what anybody may send, and where
 * two that share a number do no harm.
 */
export function hash48(text: string): number {
  let [high, low] = [0x811c9dc5, 0x9747b28c]
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x5bd1e995)
    low ^= low >>> 15
  }
  return (high >>> 16) * 2 ** 32 + (low >>> 0) || 1
}
