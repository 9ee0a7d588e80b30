import type { FieldResult, QuotaPolicy } from './limits.js'
import type { FieldValue } from './structured-field.js'

export function parseRateLimitPolicy(value: FieldValue): FieldResult<QuotaPolicy> {
  throw new Error(`not built yet: ${value}`)
}

export function formatRateLimitPolicy(policies: readonly QuotaPolicy[]): string {
  throw new Error(`not built yet: ${policies}`)
}
