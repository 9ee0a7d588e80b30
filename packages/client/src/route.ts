import type { Target } from './target.js'

/**
 * A number; a UUID; or at least eight hexadecimal digits of which one is no letter: "deadbeef" may be a word,
 * "deadbee5" is not.
 */
const identifier = /^(-?\d+|[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}|(?=[a-f]*\d)[\da-f]{8,})$/i

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
