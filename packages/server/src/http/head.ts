import { parseRetryAfter } from '@ratepact/contract'
import type { Field } from './fields.js'

/** The head of an answer about to be sent. */
export interface Head {
  /** The field's value, several lines joined by commas. */
  get(name: string): string | undefined
  set(name: string, value: string): void
}

const EXPOSE = 'Access-Control-Expose-Headers'

/**
 * Whether an answer of this status may state limits. Not 3xx: a low number could stop a client from following
 * (draft-11 section 6), and a 304 would plant it in a stored answer. Not 1xx, which is no answer yet.
 */
export function statesLimits(status: number): boolean {
  return status >= 200 && (status < 300 || status >= 400)
}

/** Appends members to lists that may already have some: another limiter's, or the handler's own. */
export function appendFields(head: Head, fields: readonly Field[]): void {
  for (const [name, value] of fields) {
    const before = head.get(name)
    head.set(name, before === undefined || before === '' ? value : `${before}, ${value}`)
  }
}

/** Lets pages of other origins read these fields; what is exposed already stays. */
export function exposeFields(head: Head, names: readonly string[]): void {
  const before = head.get(EXPOSE) ?? ''
  const known = new Set(before.split(',').map((name) => name.trim().toLowerCase()))
  const added = names.filter((name) => !known.has(name.toLowerCase()))
  if (added.length > 0) head.set(EXPOSE, (before === '' ? added : [before, ...added]).join(', '))
}

/** Sets what belongs to a refusal. Of two waits the longer one holds, and then the shorter one's exact form is void. */
export function setDenialHeaders(head: Head, headers: readonly Field[]): void {
  const before = parseRetryAfter(head.get('Retry-After'))
  const own = headers.find(([name]) => name === 'Retry-After')
  const outlasted = before !== undefined && own !== undefined && before > Number(own[1])
  for (const [name, value] of headers)
    if (!(outlasted && name.toLowerCase().startsWith('retry-after'))) head.set(name, value)
}
