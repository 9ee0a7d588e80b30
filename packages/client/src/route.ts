import type { Target } from './target.js'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const number = /^-?\d+$/
/** At least eight digits of which one is no letter: "deadbeef" may be a word, "deadbee5" is not. */
const hex = /^(?=[a-f]*\d)[0-9a-f]{8,}$/i

/**
 * The route of a call by default: method and path, with the segments that look like identifiers folded
 * into `*`. HEAD counts as GET, as servers have it.
 */
export function defaultRoute({ method, location }: Target): string {
  const path = location.pathname.split('/').map(fold).join('/')
  return `${method === 'HEAD' ? 'GET' : method} ${path}`
}

function fold(segment: string): string {
  return number.test(segment) || hex.test(segment) || uuid.test(segment) ? '*' : segment
}
