import type { FieldGetter, RateLimitFields, ResetMeaning, ResetReading } from '../dialect.js'
import { type FieldValue, joinLines, trim } from '../field-value.js'
import { parseHttpDate } from '../http-date.js'
import type { FieldResult, ServiceLimit } from '../limits.js'
import { readList } from '../structured-field.js'
import { legacyLimit } from './limit.js'
import { type FieldNumber, readInteger, readNumber } from './number.js'
import { readLimitField, readNamelessPolicies } from './policies.js'
import { secondsFrom, secondsUntil } from './reset.js'

/**
 * Reads `RateLimit-Limit`, `-Remaining` and `-Reset` (draft-03 section 2, draft-06 section 3), and the
 * policies of `RateLimit-Policy`, or without that field those of `RateLimit-Limit`.
 *
 * @returns undefined when neither the limit nor what remains is stated.
 */
export function readThreeFields(field: FieldGetter, since: () => number): RateLimitFields | undefined {
  const stated = readLimitField(field('ratelimit-limit'))
  const remaining = readInteger(field('ratelimit-remaining'))
  if (stated.policies.status === 'absent' && remaining.status === 'absent') return undefined
  const reset = inSeconds(readInteger(field('ratelimit-reset')), 'delta-seconds', since)
  const limits = limitOf('ratelimit', remaining, reset)
  const policies = readList(field('ratelimit-policy'))
  if (policies.status !== 'absent') {
    return { dialect: 'draft-6', limits, policies: readNamelessPolicies(policies, stated.limit) }
  }
  return { dialect: stated.hasPolicies ? 'draft-3' : 'draft-6', limits, policies: stated.policies }
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
  return { dialect: 'x-ratelimit', limits: limitOf('x-ratelimit', remaining, reset), policies }
}

function readVendorReset(value: FieldValue, meaning: ResetReading, since: () => number): FieldNumber {
  const field = joinLines(value)
  if (field.status !== 'text') return field
  if (meaning === 'by-size' && !/[a-z]/i.test(field.text)) {
    // A delay that is too large for one is read as a timestamp anyway.
    return readVendorReset(field.text, 'delta-seconds', since)
  }
  if (meaning !== 'http-date' && meaning !== 'by-size') {
    return inSeconds(readNumber(field.text, Math.max), meaning, since)
  }
  const sinceMs = since()
  const at = parseHttpDate(trim(field.text), new Date(sinceMs))
  return at === undefined
    ? { status: 'ignored', reason: 'not an HTTP-date' }
    : known(secondsFrom(at, sinceMs))
}

function inSeconds(
  reset: FieldNumber,
  meaning: Exclude<ResetMeaning, 'http-date'>,
  since: () => number,
): FieldNumber {
  return reset.status === 'number' ? known(secondsUntil(reset.value, meaning, since)) : reset
}

/** A reset that cannot be counted from anything says as much as none. */
function known(seconds: number | undefined): FieldNumber {
  return seconds === undefined ? { status: 'absent' } : { status: 'number', value: seconds }
}

/** A missing reset leaves the window open; an unreadable one makes the limit unusable. */
function limitOf(family: string, remaining: FieldNumber, reset: FieldNumber): FieldResult<ServiceLimit> {
  if (remaining.status === 'absent') return { status: 'ignored', reason: `${family}-remaining is missing` }
  if (remaining.status === 'ignored')
    return { status: 'ignored', reason: `${family}-remaining: ${remaining.reason}` }
  if (reset.status === 'ignored') return { status: 'ignored', reason: `${family}-reset: ${reset.reason}` }
  const seconds = reset.status === 'number' ? reset.value : undefined
  return legacyLimit(Math.floor(remaining.value), seconds)
}
