import { parseRetryAfter } from '@ratepact/contract'
import type { Denial } from './denial.js'
import type { Field } from './fields.js'
import type { Head } from './head.js'

const EXACT = 'retry-after-ms'

/**
 * What may have been said of a body before there was this one: how it is framed, coded and told apart, for how long it
 * is worth keeping, and where.
 */
const OF_ANOTHER_BODY = [
  ...['Transfer-Encoding', 'Trailer', 'Content-Encoding', 'Content-Language', 'Content-Location'],
  ...['Content-Disposition', 'Content-Range', 'Accept-Ranges', 'Content-MD5', 'Digest', 'Content-Digest'],
  ...['Repr-Digest', 'ETag', 'Last-Modified', 'Expires', 'Age', 'Surrogate-Control', 'CDN-Cache-Control'],
]

/** Sets all of a refusal's head but its status and the length of its body. */
export function setDenialHead(head: Head, { headers, contentType }: Denial): void {
  for (const name of OF_ANOTHER_BODY) head.remove(name)
  setDenialHeaders(head, headers)
  head.set('Content-Type', contentType)
}

/**
 * Sets what belongs to a refusal. Of two waits the longer one holds, and then the shorter one's exact form is void,
 * which would have a client come back too early.
 */
export function setDenialHeaders(head: Head, headers: readonly Field[]): void {
  const before = parseRetryAfter(head.get('Retry-After'))
  const own = headers.find(([name]) => name === 'Retry-After')
  const outlasted = before !== undefined && own !== undefined && before > Number(own[1])
  if (own !== undefined && !outlasted) head.remove(EXACT)
  for (const [name, value] of headers)
    if (!(outlasted && name.toLowerCase().startsWith('retry-after'))) head.set(name, value)
}
