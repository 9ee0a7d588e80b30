import { expected } from '../check.js'
import type { LegacyDialect, ResetMeaning } from '../dialect.js'
import type { QuotaPolicy, ServiceLimit } from '../limits.js'
import { formatRateLimit } from '../rate-limit.js'
import { formatRateLimitPolicy } from '../rate-limit-policy.js'
import { type WrittenItem, writeDictionary, writeList } from '../structured-field.js'
import { checkResetMeaning, writeDelta, writeReset } from './reset.js'
import { nearestToExhaustion, type SaidLimit, saidPolicies } from './said.js'

/** How to write what a dialect leaves open. */
export interface LegacyFormatOptions {
  /** What `X-RateLimit-Reset` counts. @default 'epoch-seconds' */
  xRateLimitReset?: ResetMeaning
  /** The instant that timestamps are counted from. @default the current time */
  now?: Date
}

/**
 * Writes limits for clients that know no names: the fields of draft 03, 06 or 07, or `X-RateLimit-*`.
 * Those tell of one limit, the one with the fewest units left (draft-06 section 4), and of policies as
 * numbers of requests in a window. So a limit without a window, and whatever counts another unit, is
 * left out; of policies with the same quota only one is stated, the limit's own or the longest.
 *
 * @returns fields by name; none when nothing of it can be said.
 * @throws TypeError or RangeError, naming the member, the value and the rule, for anything that may not
 * be written, an empty list and a limit whose policy is not among `policies` included.
 */
export function formatLegacyFields(
  dialect: LegacyDialect,
  limits: readonly ServiceLimit[],
  policies: readonly QuotaPolicy[],
  options: LegacyFormatOptions = {},
): Readonly<Record<string, string>> {
  const write = writerOf(dialect)
  const reset = checkResetMeaning('xRateLimitReset', options.xRateLimitReset ?? 'epoch-seconds')
  // What may not be said by name may not be said without one either.
  formatRateLimit(limits)
  formatRateLimitPolicy(policies)
  const said = nearestToExhaustion(limits, policies)
  if (said === undefined) return {}
  return write(said, saidPolicies(policies, said.policy).map(policyItem), reset, options.now ?? new Date())
}

type Writer = (
  said: SaidLimit,
  policies: readonly WrittenItem[],
  reset: ResetMeaning,
  now: Date,
) => Record<string, string>

function writerOf(dialect: unknown): Writer {
  if (dialect === 'draft-3') return draft3
  if (dialect === 'draft-6') return draft6
  if (dialect === 'draft-7') return draft7
  if (dialect === 'x-ratelimit') return xRateLimit
  throw new RangeError(expected('dialect', 'one of draft-3, draft-6, draft-7, x-ratelimit', dialect))
}

function draft3(said: SaidLimit, policies: readonly WrittenItem[]): Record<string, string> {
  return {
    'RateLimit-Limit': writeList([[said.policy.quota, []], ...policies]),
    'RateLimit-Remaining': String(said.available),
    'RateLimit-Reset': String(writeDelta(said)),
  }
}

function draft6(said: SaidLimit, policies: readonly WrittenItem[]): Record<string, string> {
  return { ...draft3(said, []), ...policyField(policies) }
}

function draft7(said: SaidLimit, policies: readonly WrittenItem[]): Record<string, string> {
  const { available: remaining, policy } = said
  const value = writeDictionary({ limit: policy.quota, remaining, reset: writeDelta(said) })
  return { RateLimit: value, ...policyField(policies) }
}

function xRateLimit(
  said: SaidLimit,
  _policies: readonly WrittenItem[],
  reset: ResetMeaning,
  now: Date,
): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(said.policy.quota),
    'X-RateLimit-Remaining': String(said.available),
    'X-RateLimit-Reset': writeReset(said, reset, now),
  }
}

function policyField(policies: readonly WrittenItem[]): Record<string, string> {
  return policies.length === 0 ? {} : { 'RateLimit-Policy': writeList(policies) }
}

function policyItem({ quota, windowSeconds }: QuotaPolicy): WrittenItem {
  return [quota, [['w', windowSeconds]]]
}
