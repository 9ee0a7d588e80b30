import type { Target } from './target.js'

/**
 * A number; a UUID; at least eight hexadecimal digits of which one is no letter: "deadbeef" may be a word, "deadbee5" is
 * not; and what may be a token: with a digit and a colon, or at least sixteen characters with a digit and a letter.
 */
const identifier =
  /^(-?\d+|[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}|(?=[a-f]*\d)[\da-f]{8,}|(?=\D*\d)(.*(:|%3a).*|(?=.*[a-z]).{16,}))$/i

/**
 * The route of a call by default: method and path, with the segments that look like identifiers folded
 * into `*`. HEAD counts as GET, as servers have it.
 */
export function defaultRoute({ method, address }: Target): string {
  address.path ??= folded(address.location.pathname)
  return `${method === 'HEAD' ? 'GET' : method} ${address.path}`
}

function folded(path: string): string {
  return /[\d-]/.test(path) ? path.split('/').map(fold).join('/') : path
}

function fold(segment: string): string {
  return identifier.test(segment) ? '*' : segment
}
