import type { Target } from './target.js'

/**
 * A number; a UUID; at least eight hexadecimal digits of which one is no letter: "deadbeef" may be a word, "deadbee5" is
 * not; and what a long number and a colon begin, as some tokens do.
 */
const identifier = /^(-?\d+|[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}|(?=[a-f]*\d)[\da-f]{8,})$|\d{5}(:|%3a)/i

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
  return identifier.test(segment) || segment.split(/[^a-z\d]/i).some(isToken) ? '*' : segment
}

/** Long, of letters and digits without a break: names of models and versions, which are no less long, have breaks. */
function isToken(run: string): boolean {
  return run.length >= 16 && /\d/.test(run) && /\D/.test(run)
}
