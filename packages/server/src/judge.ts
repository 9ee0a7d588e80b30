import type { Decision, Limit } from './decision.js'
import { limitOf } from './limit.js'
import type { Policy } from './policy.js'
import type { Charge, Reply } from './store.js'

/** Turns what the store read into what the caller sees. */
export function decisionOf<Name extends string>(
  charges: readonly Charge[],
  { admitted, readings, nowUs, blockedUs, replayed }: Reply,
  consumed: boolean,
  scopeKeys: (scope: string) => Uint8Array,
): Decision<Name> {
  if (blockedUs > 0) {
    const wait = Number.isFinite(blockedUs) ? { retryAfterSeconds: blockedUs / 1e6 } : {}
    return { outcome: 'blocked', allowed: false, ...wait, source: 'store' }
  }
  const limits: Limit<Name>[] = []
  const violated: Name[] = []
  let longestWaitUs = 0
  let longestDelayUs = 0
  for (const [i, { policy, owner, cost }] of charges.entries()) {
    const key = owner.scope === undefined ? undefined : scopeKeys(owner.scope)
    const taken = admitted && consumed && !replayed
    const { limit, waitUs, delayUs } = limitOf(
      policy as Policy<Name>,
      readings[i] ?? [],
      cost,
      taken,
      nowUs,
      key,
    )
    limits.push(limit)
    longestDelayUs = Math.max(longestDelayUs, delayUs)
    if (limit.allowed) continue
    violated.push(policy.name as Name)
    longestWaitUs = Math.max(longestWaitUs, waitUs)
  }
  if (admitted)
    return {
      outcome: 'admitted',
      allowed: true,
      limits,
      delaySeconds: longestDelayUs / 1e6,
      replayed,
      source: 'store',
    }
  return {
    outcome: 'refused',
    allowed: false,
    limits,
    violated,
    retryAfterSeconds: longestWaitUs / 1e6,
    source: 'store',
  }
}
