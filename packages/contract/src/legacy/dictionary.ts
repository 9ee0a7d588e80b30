import type { FieldGetter, RateLimitFields } from '../dialect.js'
import { readDictionary, readList } from '../structured-field.js'
import { legacyLimit, unusable } from './limit.js'
import { countOf } from './number.js'
import { readNamelessPolicies } from './policies.js'
import { inSeconds } from './reset.js'

/**
 * Reads the `RateLimit` field of draft 07 (section 3.1), a Dictionary of `limit`, `remaining` and
 * `reset`, and its `RateLimit-Policy`. One bad member makes the whole field ignored. That draft lets
 * `remaining` be left out, and then nothing says what is left.
 *
 * @returns undefined when the field is none of that draft's.
 */
export function readDictionaryFields(field: FieldGetter, since: () => number): RateLimitFields | undefined {
  const dictionary = readDictionary(field('ratelimit'))
  if (dictionary.status !== 'read') return undefined
  const count = (key: string) => countOf(dictionary.value.get(key))
  const limit = count('limit')
  const remaining = count('remaining')
  const reset = count('reset')
  if (limit.status === 'absent' && remaining.status === 'absent') return undefined
  const isSound = limit.status === 'read' && reset.status === 'read' && remaining.status !== 'ignored'
  return {
    dialect: 'draft-7',
    limits:
      limit.status !== 'read'
        ? unusable('limit', limit)
        : reset.status !== 'read'
          ? unusable('reset', reset)
          : legacyLimit('', remaining, inSeconds(reset, 'delta-seconds', since)),
    policies: readNamelessPolicies(readList(field('ratelimit-policy')), isSound ? limit.value : undefined),
  }
}
