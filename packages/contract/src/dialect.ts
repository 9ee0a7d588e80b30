import type { FieldValue } from './field-value.js'
import type { FieldResult, QuotaPolicy, ServiceLimit } from './limits.js'

/**
 * A way of stating limits, by the newest draft that had it where drafts share one: `draft-11` stands for
 * 08 to 11, `draft-6` for 04 to 06 (and 00 to 03 where the limit alone is stated), `draft-3` for 00 to
 * 03 with the policies inside `RateLimit-Limit`. `x-ratelimit` was never a draft.
 */
export type Dialect = 'draft-12' | 'draft-11' | LegacyDialect

/** The dialects from before policies had names. */
export type LegacyDialect = 'draft-7' | 'draft-6' | 'draft-3' | 'x-ratelimit'

/**
 * What `X-RateLimit-Reset` counts: nobody defined it, and each API has its own. `delta-seconds` are
 * seconds from the answer on, `epoch-…` is time since 1970.
 */
export type ResetMeaning = 'epoch-seconds' | 'epoch-milliseconds' | 'delta-seconds' | 'http-date'

/** How to read it; `by-size` takes a number for whichever of these fits its size, and reads an HTTP-date too. */
export type ResetReading = ResetMeaning | 'by-size'

/**
 * The fields of an answer by their names in lower case: `(name) => response.headers.get(name)`, or
 * `(name) => message.headers[name]` in Node.
 */
export type FieldGetter = (name: string) => FieldValue

/** What all rate limit fields of an answer say, in whichever dialect they say it. */
export interface RateLimitFields {
  /** What the fields were taken for; undefined when they are in no dialect known, or there are none. */
  dialect: Dialect | undefined
  limits: FieldResult<ServiceLimit>
  policies: FieldResult<QuotaPolicy>
}
