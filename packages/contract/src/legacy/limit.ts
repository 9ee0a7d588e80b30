import { ignored, type Read } from '../field-value.js'
import type { FieldResult, ServiceLimit } from '../limits.js'
import { put } from '../put.js'
import { legacyName } from './policies.js'

/**
 * The one limit of a dialect without names. A missing reset leaves the window open; an unreadable one
 * makes the limit unusable.
 *
 * @param family what the names of the fields begin with
 */
export function legacyLimit(
  family: string,
  remaining: Read<number>,
  reset: Read<number>,
): FieldResult<ServiceLimit> {
  if (remaining.status !== 'read') return unusable(`${family}remaining`, remaining)
  if (reset.status === 'ignored') return unusable(`${family}reset`, reset)
  const limit: ServiceLimit = { policy: legacyName, available: Math.floor(remaining.value) }
  if (reset.status === 'read') put(limit, 'effectiveWindowSeconds', reset.value)
  return { status: 'ok', items: [limit], dropped: [] }
}

/** Without a number that has to be there, or with an unreadable one, a limit says nothing. */
export function unusable(
  name: string,
  number: Exclude<Read<number>, { status: 'read' }>,
): FieldResult<ServiceLimit> {
  return ignored(number.status === 'absent' ? `${name} is missing` : `${name}: ${number.reason}`)
}
