import type { FieldGetter, RateLimitFields, ResetReading } from '../dialect.js'
import { type FieldValue, ignored, joinLines, type Read, trim } from '../field-value.js'
import { parseHttpDate } from '../http-date.js'
import { readList } from '../structured-field.js'
import { legacyLimit } from './limit.js'
import { readInteger, readNumber } from './number.js'
import { readLimitField, readNamelessPolicies } from './policies.js'
import { inSeconds, secondsTo } from './reset.js'

/**
 * Reads `RateLimit-Limit`, `-Remaining` and `-Reset` (draft-03 section 2, draft-06 section 3), and the
 * policies of `RateLimit-Policy`, or without that field those of `RateLimit-Limit`.
 *
 * @returns undefined when neither the limit nor what remains is stated.
 */
export function readThreeFields(field: FieldGetter, since: () => number): RateLimitFields | undefined {
  const { limit, policies, hasPolicies } = readLimitField(field('ratelimit-limit'))
  const remaining = readInteger(field('ratelimit-remaining'))
  if (policies.status === 'absent' && remaining.status === 'absent') return undefined
  const reset = inSeconds(readInteger(field('ratelimit-reset')), 'delta-seconds', since)
  const limits = legacyLimit('ratelimit-', remaining, reset)
  const list = readList(field('ratelimit-policy'))
  if (list.status === 'absent') return { dialect: hasPolicies ? 'draft-3' : 'draft-6', limits, policies }
  return { dialect: 'draft-6', limits, policies: readNamelessPolicies(list, limit) }
}

/** Reads `X-RateLimit-Limit`, `-Remaining` and `-Reset`, likewise. Some write policies into the first. */
export function readVendorFields(
  field: FieldGetter,
  meaning: ResetReading,
  since: () => number,
): RateLimitFields | undefined {
  const { policies } = readLimitField(field('x-ratelimit-limit'))
  const remaining = readNumber(field('x-ratelimit-remaining'), Math.min)
  if (policies.status === 'absent' && remaining.status === 'absent') return undefined
  const reset = readVendorReset(field('x-ratelimit-reset'), meaning, since)
  return { dialect: 'x-ratelimit', limits: legacyLimit('x-ratelimit-', remaining, reset), policies }
}

function readVendorReset(value: FieldValue, meaning: ResetReading, since: () => number): Read<number> {
  const field = joinLines(value)
  if (field.status !== 'read') return field
  const text = field.value
  if (meaning !== 'http-date' && !(meaning === 'by-size' && /[a-z]/i.test(text))) {
    // A delay that is too large for one is read as a timestamp anyway.
    return inSeconds(readNumber(text, Math.max), meaning === 'by-size' ? 'delta-seconds' : meaning, since)
  }
  const sinceMs = since()
  const at = parseHttpDate(trim(text), new Date(sinceMs))
  return at === undefined ? ignored('not an HTTP-date') : secondsTo(at, sinceMs)
}
