import type { FieldGetter, RateLimitFields } from '../dialect.js'
import type { FieldResult, ServiceLimit } from '../limits.js'
import { type FieldItem, readDictionary, readList } from '../structured-field.js'
import { legacyLimit } from './limit.js'
import { readNamelessPolicies } from './policies.js'
import { secondsUntil } from './reset.js'

/**
 * Reads the `RateLimit` field of draft 07 (section 3.1), a Dictionary of `limit`, `remaining` and
 * `reset`, and its `RateLimit-Policy`. One bad member makes the whole field ignored. That draft lets
 * `remaining` be left out, and then nothing says what is left.
 *
 * @returns undefined when the field is none of that draft's.
 */
export function readDictionaryFields(field: FieldGetter, since: () => number): RateLimitFields | undefined {
  const dictionary = readDictionary(field('ratelimit'))
  if (dictionary.status !== 'dictionary') return undefined
  const { members } = dictionary
  if (!members.has('limit') && !members.has('remaining')) return undefined
  const fault = faultOf(members)
  const limit = fault === undefined ? members.get('limit')?.count() : undefined
  return {
    dialect: 'draft-7',
    limits: fault === undefined ? limitOf(members, since) : { status: 'ignored', reason: fault },
    policies: readNamelessPolicies(readList(field('ratelimit-policy')), limit),
  }
}

function faultOf(members: ReadonlyMap<string, FieldItem>): string | undefined {
  for (const key of ['limit', 'remaining', 'reset']) {
    const item = members.get(key)
    if (item === undefined && key !== 'remaining') return `${key} is missing`
    item?.count()
    if (item?.fault !== undefined) return `${key}: ${item.fault}`
  }
  return undefined
}

function limitOf(members: ReadonlyMap<string, FieldItem>, since: () => number): FieldResult<ServiceLimit> {
  const available = members.get('remaining')?.count()
  if (available === undefined) return { status: 'ignored', reason: 'remaining is missing' }
  return legacyLimit(available, secondsUntil(members.get('reset')?.count() ?? 0, 'delta-seconds', since))
}
