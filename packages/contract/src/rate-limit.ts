import { checkBytes, checkInteger, checkString, expected, optional } from './check.js'
import { type FieldValue, ignored, type Read } from './field-value.js'
import { checkWindowMs, hintKeys } from './hint.js'
import type { FieldResult, ServiceLimit } from './limits.js'
import { keepOneOfEach, readMembers } from './members.js'
import { put } from './put.js'
import { type FieldItem, type Parameter, readList, type WrittenItem, writeList } from './structured-field.js'

/**
 * Which draft's parameter names to write: 11 (`r`, `t`), 12 (`a`, `w`, `c`) or both at once. The names
 * of 12 are provisional: they are those of the text that draft 12 is made from.
 */
export type Draft = 11 | 12 | 'dual'

/** How to write the `RateLimit` field. */
export interface FormatOptions {
  /**
   * Whose parameter names to write. 11 has no parameter for the cost, which is then left out.
   *
   * @default 11
   */
  draft?: Draft
}

/** What each draft calls the numbers. A reader takes one draft's names or the other's, never a mixture. */
const draft11 = { available: 'r', window: 't', cost: undefined } as const
const draft12 = { available: 'a', window: 'w', cost: 'c' } as const

/**
 * Reads the `RateLimit` field (draft-11 section 4), in the names of draft 11 or of draft 12. One bad
 * member makes the whole field ignored. Of two members with the same policy and partition key the one
 * that leaves less is kept. Never throws.
 */
export function parseRateLimit(value: FieldValue): FieldResult<ServiceLimit> {
  return readLimits(readList(value))
}

/** What the `RateLimit` field says, once it is parsed. */
export function readLimits(list: Read<readonly FieldItem[]>): FieldResult<ServiceLimit> {
  if (list.status !== 'read') return list
  const members = readMembers(list.value.entries(), readLimit)
  const [fault] = members.malformed
  return fault === undefined
    ? keepOneOfEach(members, leavesLess)
    : ignored(`item ${fault.index}: ${fault.reason}`)
}

/**
 * Writes the `RateLimit` field (draft-11 section 4), members in the order given.
 *
 * @throws TypeError or RangeError, naming the member, the value and the rule, for anything that may
 * not be written, an empty list included: a field without members is left out, not sent empty.
 */
export function formatRateLimit(limits: readonly ServiceLimit[], options: FormatOptions = {}): string {
  const drafts = draftsOf(options.draft ?? 11)
  if (limits.length === 0) throw new RangeError('Expected limits to have at least one member, got none')
  return writeList(limits.map((limit, index) => limitItem(`limits[${index}]`, limit, drafts)))
}

type Names = typeof draft11 | typeof draft12

function draftsOf(draft: unknown): readonly Names[] {
  if (draft === 11) return [draft11]
  if (draft === 12) return [draft12]
  if (draft === 'dual') return [draft11, draft12]
  throw new RangeError(expected('draft', "11, 12 or 'dual'", draft))
}

/** Whether a member is in the names of draft 12. With both drafts' names it is read by those of 11. */
export function isDraft12(item: FieldItem): boolean {
  return item.has('a') && !item.has('r')
}

function readLimit(item: FieldItem): ServiceLimit {
  const names = isDraft12(item) ? draft12 : draft11
  const limit: ServiceLimit = { policy: item.name(), available: item.requiredInteger(names.available, 0) }
  const window = item.integer(names.window, 0)
  put(limit, 'effectiveWindowSeconds', window)
  put(limit, 'partitionKey', item.bytes('pk'))
  if (names.cost !== undefined) put(limit, 'cost', item.integer(names.cost, 0))
  // Milliseconds say the window more exactly; above it, or without it, they say something else.
  put(limit, 'effectiveWindowMs', item.hintInteger(hintKeys.effectiveWindowMs, 0, Number(window) * 1000))
  put(limit, 'instances', item.hintInteger(hintKeys.instances, 1))
  return limit
}

/** Fewer units are stricter, and as many units for a longer time; no time is the shortest. */
export function leavesLess(earlier: ServiceLimit, later: ServiceLimit): boolean {
  if (later.available !== earlier.available) return later.available < earlier.available
  return (later.effectiveWindowSeconds ?? -1) > (earlier.effectiveWindowSeconds ?? -1)
}

function limitItem(where: string, limit: ServiceLimit, drafts: readonly Names[]): WrittenItem {
  const policy = checkString(`${where}.policy`, limit.policy)
  const whole = (field: string, least: number) => (value: unknown) =>
    checkInteger(`${where}.${field}`, value, least)
  const available = whole('available', 0)(limit.available)
  const window = optional(limit.effectiveWindowSeconds, whole('effectiveWindowSeconds', 0))
  const cost = optional(limit.cost, whole('cost', 0))
  const bytes = optional(limit.partitionKey, (value) => checkBytes(`${where}.partitionKey`, value))
  const windowMs = optional(limit.effectiveWindowMs, (value) =>
    checkWindowMs(`${where}.effectiveWindowMs`, value, window),
  )
  const instances = optional(limit.instances, whole('instances', 1))
  const numbers = drafts.flatMap((names): Parameter[] => [
    [names.available, available],
    [names.window, window],
    [names.cost, cost],
  ])
  return [
    policy,
    [...numbers, ['pk', bytes], [hintKeys.effectiveWindowMs, windowMs], [hintKeys.instances, instances]],
  ]
}
