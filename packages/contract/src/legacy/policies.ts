import { keepOneOfEach, type Placed } from '../duplicate.js'
import type { FieldValue } from '../field-value.js'
import type { FieldResult, QuotaPolicy } from '../limits.js'
import { defaultUnit } from '../rate-limit-policy.js'
import { type FieldItem, type FieldList, readList } from '../structured-field.js'

/** What the one limit of a dialect without names is called, and the policy that it tells of. */
export const legacyName = 'legacy'

interface Quota {
  quota: number
  windowSeconds: number
}

/** Reads the policies of a dialect where `limit` is stated in a field of its own. */
export function readNamelessPolicies(list: FieldList, limit: number | undefined): FieldResult<QuotaPolicy> {
  if (list.status === 'ignored') return list
  return nameQuotas(list.status === 'absent' ? [] : list.items.entries(), limit)
}

/** What `RateLimit-Limit` says: the limit, and in drafts 00 to 03 the policies after it. */
export interface LimitField {
  limit: number | undefined
  policies: FieldResult<QuotaPolicy>
  hasPolicies: boolean
}

/**
 * Reads the limit, which comes first, and the policies after it (draft-03 section 2.1). Some servers
 * state one policy and no number before it, `100;w=60`, which is then both.
 */
export function readLimitField(value: FieldValue): LimitField {
  const list = readList(value)
  if (list.status !== 'list') return { limit: undefined, policies: list, hasPolicies: false }
  const [first, ...rest] = list.items
  const limit = first?.count()
  if (first?.fault !== undefined) {
    const policies = { status: 'ignored', reason: `item 0: ${first.fault}` } as const
    return { limit: undefined, policies, hasPolicies: false }
  }
  const entries = [...list.items.entries()].filter(
    ([index, item]) => index > 0 || windowKey(item) !== undefined,
  )
  return { limit, policies: nameQuotas(entries, limit), hasPolicies: rest.length > 0 }
}

function nameQuotas(
  entries: Iterable<[index: number, item: FieldItem]>,
  limit: number | undefined,
): FieldResult<QuotaPolicy> {
  const quotas: Placed<Quota>[] = []
  const malformed: { index: number; reason: string }[] = []
  for (const [index, item] of entries) {
    const quota = { quota: item.count(), windowSeconds: item.requiredInteger(windowKey(item) ?? 'w', 1) }
    if (item.fault === undefined) quotas.push({ index, item: quota })
    else malformed.push({ index, reason: item.fault })
  }
  const told = toldOf(quotas, limit)
  const { items, dropped } = keepOneOfEach(
    quotas.map(({ index, item }) => ({ index, item: named(item, told) })),
    (earlier, later) => later.quota < earlier.quota,
  )
  // The limit may be lowered for a while, and then no policy has its number.
  if (told === undefined && limit !== undefined) {
    items.unshift({ policy: legacyName, quota: limit, unit: defaultUnit })
  }
  if (items.length > 0) {
    return { status: 'ok', items, dropped: [...malformed, ...dropped].sort((a, b) => a.index - b.index) }
  }
  if (malformed[0] === undefined) return { status: 'absent' }
  return { status: 'ignored', reason: `no usable item; item 0: ${malformed[0].reason}` }
}

/** The policy that the limit is about: the one of its number, or the only one where no number is stated. */
function toldOf(quotas: readonly Placed<Quota>[], limit: number | undefined): Quota | undefined {
  if (limit === undefined) return quotas.length === 1 ? quotas[0]?.item : undefined
  return quotas.find(({ item }) => item.quota === limit)?.item
}

function named({ quota, windowSeconds }: Quota, told: Quota | undefined): QuotaPolicy {
  const isTold = quota === told?.quota && windowSeconds === told.windowSeconds
  return {
    policy: isTold ? legacyName : `${legacyName}-${windowSeconds}`,
    quota,
    unit: defaultUnit,
    windowSeconds,
  }
}

/** The window is `w`, and `window` to some. */
function windowKey(item: FieldItem): 'w' | 'window' | undefined {
  if (item.has('w')) return 'w'
  return item.has('window') ? 'window' : undefined
}
