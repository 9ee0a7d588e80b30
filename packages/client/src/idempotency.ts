import { aString, optional } from './check.js'
import type { Settings } from './options.js'
import { mayCarry, randomHex, withField } from './own-field.js'
import type { Target } from './target.js'

const field = 'Idempotency-Key'

/**
 * The headers of a call with a key in them, where it needs one to be sent again without harm; the same as before
 * where it needs none or has one. In a page none is made for another origin: a browser would ask there first whether
 * such a field is allowed, and fail the call if it is not.
 */
export function withIdempotencyKey(
  headers: RequestInit['headers'],
  target: Target,
  { idempotencyKey, methods }: Settings,
): RequestInit['headers'] {
  if (idempotencyKey === false || methods.has(target.method) || target.headers.has(field)) return headers
  const own = idempotencyKey === true
  if (own && !mayCarry(target)) return headers
  const key = own ? randomHex(16) : optional(aString)('retry.idempotencyKey()', idempotencyKey(target))
  return key === undefined ? headers : withField(headers, field, key)
}
