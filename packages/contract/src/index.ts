export type { Clock } from './clock.js'
export { systemClock } from './clock.js'
export type {
  Dialect,
  FieldGetter,
  LegacyDialect,
  RateLimitFields,
  ResetMeaning,
  ResetReading,
} from './dialect.js'
export type { FieldValue } from './field-value.js'
export { parseHttpDate } from './http-date.js'
export type { LegacyFormatOptions } from './legacy/format.js'
export { formatLegacyFields } from './legacy/format.js'
export type { FieldResult, QuotaPolicy, Refill, ServiceLimit } from './limits.js'
export { partitionKeyParameter, policyPrefix } from './prefix.js'
export type { Problem, ProblemAbout, ProblemDetails, ProblemType } from './problem.js'
export { problem, problemMediaType, problemTypes, readProblem } from './problem.js'
export type { Draft, FormatOptions } from './rate-limit.js'
export { formatRateLimit, parseRateLimit } from './rate-limit.js'
export type { ReadOptions } from './rate-limit-fields.js'
export { readRateLimitFields } from './rate-limit-fields.js'
export { formatRateLimitPolicy, parseRateLimitPolicy } from './rate-limit-policy.js'
export type { RetryAfterContext } from './retry-after.js'
export { parseRetryAfter, parseRetryAfterMs } from './retry-after.js'
