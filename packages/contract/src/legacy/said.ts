import { expected } from '../check.js'
import type { QuotaPolicy, ServiceLimit } from '../limits.js'
import { leavesLess } from '../rate-limit.js'
import { defaultUnit, plainUnit } from '../rate-limit-policy.js'

/** The one limit that is told of. */
export interface SaidLimit {
  policy: QuotaPolicy
  available: number
  windowSeconds: number
  /** The window as exactly as it is known. */
  windowMs: number
}

/** The limit with the fewest units left, of those that can be told of in requests and a time. */
export function nearestToExhaustion(
  limits: readonly ServiceLimit[],
  policies: readonly QuotaPolicy[],
): SaidLimit | undefined {
  let nearest: ServiceLimit | undefined
  let said: SaidLimit | undefined
  for (const [index, limit] of limits.entries()) {
    const policy = policyOf(`limits[${index}].policy`, limit, policies)
    const windowSeconds = limit.effectiveWindowSeconds
    if (windowSeconds === undefined || !countsRequests(policy)) continue
    if (nearest !== undefined && !leavesLess(nearest, limit)) continue
    nearest = limit
    const windowMs = limit.effectiveWindowMs ?? windowSeconds * 1000
    said = { policy, available: limit.available, windowSeconds, windowMs }
  }
  return said
}

/**
 * The policies that can be told of, in their order, one for each quota: drafts 06 and 07 forbid two
 * (draft-07 section 3.5), and a reader of draft 03 finds the limit's own by its quota.
 */
export function saidPolicies(policies: readonly QuotaPolicy[], own: QuotaPolicy): readonly QuotaPolicy[] {
  const chosen = new Map<number, QuotaPolicy>()
  for (const policy of policies) {
    if (policy.windowSeconds === undefined || !countsRequests(policy)) continue
    const other = chosen.get(policy.quota)
    const isStricter = other === undefined || policy.windowSeconds > (other.windowSeconds ?? 0)
    if (policy === own || (other !== own && isStricter)) chosen.set(policy.quota, policy)
  }
  return [...chosen.values()]
}

function countsRequests(policy: QuotaPolicy): boolean {
  return plainUnit(policy.unit) === defaultUnit
}

/** The policy of the same name and partition key, or else of that name and no partition key. */
function policyOf(where: string, limit: ServiceLimit, policies: readonly QuotaPolicy[]): QuotaPolicy {
  const named = policies.filter((policy) => policy.policy === limit.policy)
  const key = limit.partitionKey?.join()
  const own = named.find((policy) => policy.partitionKey?.join() === key)
  const found = own ?? named.find((policy) => policy.partitionKey === undefined)
  if (found !== undefined) return found
  throw new RangeError(expected(where, 'stated by one of the policies', limit.policy))
}
