import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import { limitKey, type Named } from './limit-key.js'
import type { Answer } from './pace.js'

/** What an answer states about one limit. */
export interface Statement {
  readonly key: string
  /** Which limit it is. */
  readonly named: Named
  readonly limit?: ServiceLimit
  readonly policy?: QuotaPolicy | undefined
}

const mostPerAnswer = 32
const longestKey = 1024

/**
 * Joins what an answer says of limits with the policies it states: by name and partition key, else by name with a
 * policy that has no key. Policies count for themselves only where the answer states no limit at all, because a
 * server may leave out those that are far from exhausted; and only where there is something to keep to, which a number
 * of requests in no time is not. Too many, or absurdly long ones, are not taken in.
 */
export function statements(answer: Answer): readonly Statement[] {
  const policies = new Map<string, QuotaPolicy>()
  for (const policy of answer.policies.slice(0, mostPerAnswer)) {
    policies.set(limitKey(policy), policy)
  }
  const stated = new Map<string, Statement>()
  for (const limit of answer.limits.slice(0, mostPerAnswer)) {
    if (!(limit.available >= 0)) continue
    const key = limitKey(limit)
    const before = stated.get(key)?.limit
    if (before !== undefined && before.available <= limit.available) continue
    const policy = policies.get(key) ?? policies.get(limitKey({ policy: limit.policy }))
    stated.set(key, { key, named: limit, limit, policy })
  }
  if (stated.size === 0) {
    for (const [key, policy] of policies) {
      if (policy.windowSeconds === undefined && policy.unit === 'requests') continue
      stated.set(key, { key, named: policy, policy })
    }
  }
  return [...stated.values()].filter(({ key }) => key.length <= longestKey)
}
