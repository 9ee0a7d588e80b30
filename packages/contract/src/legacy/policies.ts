import { type FieldValue, ignored, type Read } from '../field-value.js'
import type { FieldResult, QuotaPolicy } from '../limits.js'
import { keepOneOfEach, readMembers } from '../members.js'
import { defaultUnit } from '../rate-limit-policy.js'
import { type FieldItem, readList } from '../structured-field.js'

/** What the one limit of a dialect without names is called, and the policy that it tells of. */
export const legacyName = 'legacy'

/** Reads the policies of a dialect where `limit` is stated in a field of its own. */
export function readNamelessPolicies(
  list: Read<readonly FieldItem[]>,
  limit: number | undefined,
): FieldResult<QuotaPolicy> {
  if (list.status === 'ignored') return list
  return nameQuotas(list.status === 'read' ? list.value.entries() : [], limit)
}

/** What `RateLimit-Limit` says: the limit, and in drafts 00 to 03 the policies after it. */
export interface LimitField {
  limit?: number | undefined
  policies: FieldResult<QuotaPolicy>
  hasPolicies?: boolean
}

/**
 * Reads the limit, which comes first, and the policies after it (draft-03 section 2.1). Some servers
 * state one policy and no number before it, `100;w=60`, which is then both.
 */
export function readLimitField(value: FieldValue): LimitField {
  const list = readList(value)
  if (list.status !== 'read') return { policies: list }
  const [first] = list.value
  const limit = first?.count()
  if (first?.fault !== undefined) return { policies: ignored(`item 0: ${first.fault}`) }
  const entries = [...list.value.entries()].filter(
    ([index, item]) => index > 0 || windowKey(item) !== undefined,
  )
  return { limit, policies: nameQuotas(entries, limit), hasPolicies: list.value.length > 1 }
}

function nameQuotas(
  entries: Iterable<[index: number, item: FieldItem]>,
  limit: number | undefined,
): FieldResult<QuotaPolicy> {
  const { sound, malformed } = readMembers(entries, (item) => ({
    quota: item.count(),
    windowSeconds: item.requiredInteger(windowKey(item) ?? 'w', 1),
  }))
  // The policy that the limit is about: the one of its number, or the only one where no number is stated.
  const told =
    limit === undefined ? sound.length === 1 && sound[0] : sound.find(({ item }) => item.quota === limit)
  const window = told ? told.item.windowSeconds : undefined
  const named = sound.map(({ index, item }) => {
    const isTold = item.windowSeconds === window && item.quota === (limit ?? item.quota)
    const policy = isTold ? legacyName : `${legacyName}-${item.windowSeconds}`
    return { index, item: { policy, unit: defaultUnit, ...item } as QuotaPolicy }
  })
  // The limit may be lowered for a while, and then no policy has its number.
  if (!told && limit !== undefined)
    named.unshift({ index: -1, item: { policy: legacyName, quota: limit, unit: defaultUnit } })
  return keepOneOfEach({ sound: named, malformed }, (earlier, later) => later.quota < earlier.quota)
}

/** The window is `w`, and `window` to some. */
function windowKey(item: FieldItem): 'w' | 'window' | undefined {
  if (item.has('w')) return 'w'
  return item.has('window') ? 'window' : undefined
}
