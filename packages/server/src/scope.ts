import { hashBytes } from './hash.js'

const MOST_KEPT = 1000

/**
 * The bytes that tell the scopes of a policy apart on the wire: 8 bytes of a stable hash, made once per scope.
 * Scopes are route patterns and so are few; were they many, the later ones would be hashed each time.
 */
export function createScopeKeys(): (scope: string) => Uint8Array {
  const kept = new Map<string, Uint8Array>()
  return (scope) => {
    const known = kept.get(scope)
    if (known !== undefined) return known
    const key = hashBytes(scope)
    if (kept.size < MOST_KEPT) kept.set(scope, key)
    return key
  }
}
