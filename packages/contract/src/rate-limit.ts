import type { FieldResult, ServiceLimit } from './limits.js'
import type { FieldValue } from './structured-field.js'

/** Which draft's parameter names to write: 11 (`r`, `t`), 12 (`a`, `w`, `c`; provisional) or both at once. */
export type Draft = 11 | 12 | 'dual'

export interface FormatOptions {
  /** @default 11 */
  draft?: Draft
}

export function parseRateLimit(value: FieldValue): FieldResult<ServiceLimit> {
  throw new Error(`not built yet: ${value}`)
}

export function formatRateLimit(limits: readonly ServiceLimit[], options: FormatOptions = {}): string {
  throw new Error(`not built yet: ${limits} ${options}`)
}
