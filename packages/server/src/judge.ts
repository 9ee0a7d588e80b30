import { meterOf } from './algorithm/algorithms.js'
import type { Decision, Limit, Source } from './decision.js'
import { type Held, limitOf } from './limit.js'
import type { Policy } from './policy.js'
import type { Charge, Reply } from './store.js'

/** Turns what the store read into what the caller sees. */
export function decisionOf<Name extends string>(
  charges: readonly Charge[],
  { admitted, readings, nowUs, instants, blockedUs, replayed, instances }: Reply,
  consumed: boolean,
  scopeKeys: (scope: string) => Uint8Array,
  source: Source = 'store',
): Decision<Name> {
  if (blockedUs > 0) {
    const wait = Number.isFinite(blockedUs) ? { retryAfterSeconds: blockedUs / 1e6 } : {}
    return { outcome: 'blocked', allowed: false, ...wait, source }
  }
  const taken = admitted && consumed && !replayed
  const clock = (i: number) => instants?.[i] ?? nowUs
  const held = admitted && !replayed ? heldBy(charges, readings, clock) : undefined
  const limits: Limit<Name>[] = []
  const violated: Name[] = []
  let longestWaitUs = 0
  let longestDelayUs = 0
  for (const [i, { policy, owner, cost }] of charges.entries()) {
    const key = owner.scope === undefined ? undefined : scopeKeys(owner.scope)
    const { limit, waitUs, delayUs } = limitOf(
      policy as Policy<Name>,
      readings[i] ?? [],
      cost,
      taken,
      clock(i),
      held?.[i],
      instances?.[i] ?? 0,
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
      source,
    }
  return {
    outcome: 'refused',
    allowed: false,
    limits,
    violated,
    retryAfterSeconds: longestWaitUs / 1e6,
    source,
  }
}

/** How long each policy has an admitted call held; undefined where none does. */
function heldBy(
  charges: readonly Charge[],
  readings: Reply['readings'],
  clock: (i: number) => number,
): readonly Held[] | undefined {
  if (charges.every(({ policy }) => policy.holdUs === undefined)) return undefined
  const own = charges.map(({ policy, cost }, i) =>
    policy.holdUs === undefined
      ? 0
      : (meterOf(policy).heldUs?.(readings[i] ?? [], cost, clock(i), policy) ?? 0),
  )
  const longestUs = Math.max(...own)
  return longestUs > 0 ? own.map((ownUs) => ({ ownUs, longestUs })) : undefined
}
