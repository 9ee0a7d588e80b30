import { checkBytes, checkInteger, checkString, optional } from './check.js'
import type { FieldValue, Read } from './field-value.js'
import { checkRate, checkRefill, hintKeys, isRate, isRefill } from './hint.js'
import type { FieldResult, QuotaPolicy } from './limits.js'
import { keepOneOfEach, readMembers } from './members.js'
import { put } from './put.js'
import { type FieldItem, readList, type WrittenItem, writeList } from './structured-field.js'

/** The unit of a policy that names none (draft-11 section 3.1.2). */
export const defaultUnit = 'requests'

/** How the draft's registry table spells the same unit (section 10.3 against 3.1.2). */
const registrySpelling = 'request'

/**
 * Reads the `RateLimit-Policy` field (draft-11 section 3). A bad member is dropped alone; where none is
 * left the field is ignored. Of two members with the same policy and partition key the last is kept.
 * Never throws.
 */
export function parseRateLimitPolicy(value: FieldValue): FieldResult<QuotaPolicy> {
  const list = readAgain(value)
  if (list.status !== 'read') return list
  return keepOneOfEach(readMembers(list.value.entries(), readPolicy), () => true)
}

/**
 * Writes the `RateLimit-Policy` field (draft-11 section 3), members in the order given. The unit
 * `requests` is the default and is left out.
 *
 * @throws TypeError or RangeError, naming the member, the value and the rule, for anything that may
 * not be written, an empty list included: a field without members is left out, not sent empty.
 */
export function formatRateLimitPolicy(policies: readonly QuotaPolicy[]): string {
  if (policies.length === 0) throw new RangeError('Expected policies to have at least one member, got none')
  return writeList(policies.map((policy, index) => policyItem(`policies[${index}]`, policy)))
}

let latest: { readonly value: FieldValue; readonly list: Read<readonly FieldItem[]> } | undefined

/** Answers repeat their policies, so the list that was read last is kept. */
function readAgain(value: FieldValue): Read<readonly FieldItem[]> {
  if (typeof value !== 'string') return readList(value)
  if (latest?.value !== value) latest = { value, list: readList(value) }
  return latest.list
}

function readPolicy(item: FieldItem): QuotaPolicy {
  const policy: QuotaPolicy = {
    policy: item.name(),
    quota: item.requiredInteger('q', 0),
    unit: plainUnit(item.string('qu')),
  }
  put(policy, 'windowSeconds', item.integer('w', 1))
  put(policy, 'partitionKey', item.bytes('pk'))
  put(policy, 'refill', item.hint(hintKeys.refill, isRefill))
  put(policy, 'ratePerSecond', item.hint(hintKeys.ratePerSecond, isRate))
  return policy
}

function policyItem(where: string, policy: QuotaPolicy): WrittenItem {
  const unit = plainUnit(optional(policy.unit, (value) => checkString(`${where}.unit`, value)))
  return [
    checkString(`${where}.policy`, policy.policy),
    [
      ['q', checkInteger(`${where}.quota`, policy.quota, 0)],
      ['qu', unit === defaultUnit ? undefined : unit],
      ['w', optional(policy.windowSeconds, (value) => checkInteger(`${where}.windowSeconds`, value, 1))],
      ['pk', optional(policy.partitionKey, (value) => checkBytes(`${where}.partitionKey`, value))],
      [hintKeys.refill, optional(policy.refill, (value) => checkRefill(`${where}.refill`, value))],
      [
        hintKeys.ratePerSecond,
        optional(policy.ratePerSecond, (value) => checkRate(`${where}.ratePerSecond`, value)),
      ],
    ],
  ]
}

/** The unit by the name that the draft's text uses. */
export function plainUnit(unit: string | undefined): string {
  return unit === undefined || unit === registrySpelling ? defaultUnit : unit
}
