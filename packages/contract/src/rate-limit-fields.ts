import type { FieldGetter, RateLimitFields, ResetReading } from './dialect.js'
import type { FieldValue, Read } from './field-value.js'
import { answeredAt } from './http-date.js'
import { readDictionaryFields } from './legacy/dictionary.js'
import { readNamelessPolicies } from './legacy/policies.js'
import { checkResetReading } from './legacy/reset.js'
import { readThreeFields, readVendorFields } from './legacy/three-fields.js'
import { isDraft12, readLimits } from './rate-limit.js'
import { parseRateLimitPolicy } from './rate-limit-policy.js'
import { type FieldItem, readList } from './structured-field.js'

/** How to read what the fields leave open. */
export interface ReadOptions {
  /** What `X-RateLimit-Reset` counts. `X-RateLimit-*` is read only when this is given. */
  xRateLimitReset?: ResetReading
  /** The instant that timestamps are counted from when the answer has no usable `Date`. @default the current time */
  now?: Date
}

/**
 * Reads the rate limit fields of an answer in whichever dialect they are, told by their shape. Where an
 * answer speaks several, one is read: named policies (draft 08 on) before the Dictionary of draft 07,
 * that before `RateLimit-Limit`, `-Remaining` and `-Reset`, and those before `X-RateLimit-*`.
 *
 * A dialect without names states one limit, called `legacy`, and so is the policy that it tells of; other
 * policies are called by their windows, `legacy-60`. Never throws for what an answer holds.
 *
 * @throws RangeError when `xRateLimitReset` is given and not a `ResetReading`.
 */
export function readRateLimitFields(field: FieldGetter, options: ReadOptions = {}): RateLimitFields {
  const meaning = options.xRateLimitReset
  if (meaning !== undefined) checkResetReading('xRateLimitReset', meaning)
  const now = options.now ?? new Date()
  const since = () => answeredAt(field('date'), now)
  const list = readList(field('ratelimit'))
  if (hasNames(list)) return readNamed(list, field('ratelimit-policy'))
  return (
    (list.status === 'absent' ? undefined : readDictionaryFields(field, since)) ??
    readThreeFields(field, since) ??
    (meaning === undefined ? undefined : readVendorFields(field, meaning, since)) ??
    readPoliciesAlone(list, field('ratelimit-policy'))
  )
}

/** By draft 11 unless a member can only be of draft 12. */
function readNamed(list: Read<readonly FieldItem[]>, policies: FieldValue): RateLimitFields {
  const isNew = list.status === 'read' && list.value.some(isDraft12)
  return {
    dialect: isNew ? 'draft-12' : 'draft-11',
    limits: readLimits(list),
    policies: parseRateLimitPolicy(policies),
  }
}

/** An answer may state its policies and no limit; a `RateLimit` of no known shape is ignored. */
function readPoliciesAlone(rateLimit: Read<readonly FieldItem[]>, value: FieldValue): RateLimitFields {
  const limits = readLimits(rateLimit)
  const list = readList(value)
  if (list.status !== 'read') return { dialect: undefined, limits, policies: list }
  if (hasNames(list)) return { dialect: 'draft-11', limits, policies: parseRateLimitPolicy(value) }
  const policies = readNamelessPolicies(list, undefined)
  return { dialect: policies.status === 'ok' ? 'draft-6' : undefined, limits, policies }
}

function hasNames(list: Read<readonly FieldItem[]>): boolean {
  return list.status === 'read' && list.value[0]?.isNamed() === true
}
