import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import { limitKey } from './limit-key.js'
import type { Answer } from './pace.js'

/** What an answer states about one limit. */
export interface Statement {
  readonly key: string
  readonly policyName: string
  readonly partitionKey: Uint8Array | undefined
  readonly limit?: ServiceLimit
  readonly policy?: QuotaPolicy
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
    policies.set(limitKey(policy.policy, policy.partitionKey), policy)
  }
  const stated = new Map<string, Statement>()
  for (const limit of answer.limits.slice(0, mostPerAnswer)) {
    if (!(limit.available >= 0)) continue
    const key = limitKey(limit.policy, limit.partitionKey)
    const before = stated.get(key)?.limit
    if (before !== undefined && before.available <= limit.available) continue
    const policy = policies.get(key) ?? policies.get(limitKey(limit.policy, undefined))
    const names = { key, policyName: limit.policy, partitionKey: limit.partitionKey, limit }
    stated.set(key, policy === undefined ? names : { ...names, policy })
  }
  if (stated.size === 0) {
    for (const [key, policy] of policies) {
      if (policy.windowSeconds === undefined && policy.unit === 'requests') continue
      stated.set(key, { key, policyName: policy.policy, partitionKey: policy.partitionKey, policy })
    }
  }
  return [...stated.values()].filter(({ key }) => key.length <= longestKey)
}
