import type { FieldResult, ServiceLimit } from '../limits.js'
import { legacyName } from './policies.js'

/** The one limit of a dialect without names. */
export function legacyLimit(available: number, seconds: number | undefined): FieldResult<ServiceLimit> {
  const limit: ServiceLimit = { policy: legacyName, available }
  if (seconds !== undefined) limit.effectiveWindowSeconds = seconds
  return { status: 'ok', items: [limit], dropped: [] }
}
