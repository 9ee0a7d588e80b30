import type { Ticks } from './algorithm/ticks.js'
import type { WindowNumbers } from './algorithm/window.js'
import { made, type Policy } from './policy.js'

interface Holding {
  readonly holdUs?: number
}

/**
 * A policy as a limiter with `hold` applies it: a call whose units come back within that time is admitted, to be let
 * go when they do. Token buckets can hold, and fixed windows of which a share of at least one unit falls into the time.
 * A leaky bucket is a queue already, a sliding window does not tell when the place behind those held comes, and of a
 * place nobody knows when it is given back: these refuse as they do without.
 */
export function withHold(policy: Policy, holdUs: number): Policy {
  if (policy.algorithm === 'token-bucket') return made({ ...policy, holdUs })
  if (policy.algorithm !== 'fixed-window') return policy
  const holding = made({ ...policy, holdUs })
  return heldMost(holding) > 0 ? holding : policy
}

/** Ticks that may be in use beyond the capacity of a bucket: those of calls that are held. */
export function heldTicks({ holdUs = 0, ticks }: Holding & { readonly ticks: Ticks }): number {
  return holdUs * ticks.rate
}

/** Units of a fixed window that may be given to calls held for it: those that it grants, on the average, in the time. */
export function heldMost({ holdUs = 0, quota, windowUs }: Holding & WindowNumbers): number {
  return holdUs >= windowUs ? quota : Math.floor((quota * holdUs) / windowUs)
}
