import type { Target } from './target.js'

/**
 * Whether a field of our own may go there: in a page only to its own origin. A browser would ask any other first whether
 * such a field is allowed, and fail the call if it is not.
 */
export function mayCarry({ address }: Target): boolean {
  const page = globalThis.location?.origin
  return page === undefined || page === address.origin
}

/** The headers with one more field in them. */
export function withField(
  headers: RequestInit['headers'],
  name: string,
  value: string,
): RequestInit['headers'] {
  if (Array.isArray(headers) || headers instanceof Headers) return [...headers, [name, value]]
  return { ...headers, [name]: value }
}

/** So many random bytes, in hexadecimal digits. */
export function randomHex(bytes: number): string {
  const drawn = crypto.getRandomValues(new Uint8Array(bytes))
  return Array.from(drawn, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
