import { concurrency } from '../algorithm/concurrency.js'
import { fixedWindow } from '../algorithm/fixed-window.js'
import { leakyBucket } from '../algorithm/leaky-bucket.js'
import { slidingWindowCounter } from '../algorithm/sliding-window-counter.js'
import { slidingWindowLog } from '../algorithm/sliding-window-log.js'
import { SLOWEST, tokenBucket } from '../algorithm/token-bucket.js'
import type { Policy } from '../policy.js'

/** The part of a policy that one of several processes grants. Made once for each number of them. */
export function createShares(): (policy: Policy, instances: number) => Policy {
  const made = new WeakMap<Policy, { readonly instances: number; readonly share: Policy }>()
  return (policy, instances) => {
    const known = made.get(policy)
    if (known?.instances === instances) return known.share
    const share = shareOf(policy, instances)
    made.set(policy, { instances, share })
    return share
  }
}

/**
 * So much of the quota that the shares of all together are no more than it, but at least one unit. Of a bucket units
 * come back at the exact part of its rate.
 */
function shareOf(policy: Policy, instances: number): Policy {
  const { name, by, perScope, unit } = policy
  const common = { name, by, perScope, unit }
  const quota = Math.max(1, Math.floor(policy.quota / instances))
  const debtOf = ({ maxDebt }: { readonly maxDebt: number }) => Math.floor(maxDebt / instances)
  switch (policy.algorithm) {
    case 'token-bucket':
      return tokenBucket({
        ...common,
        capacity: quota,
        refillPerSecond: rateOf(policy, instances),
        maxDebt: debtOf(policy),
      })
    case 'leaky-bucket': {
      const maxDelaySeconds = policy.queueTicks / policy.ticks.rate / 1e6
      return leakyBucket({
        ...common,
        capacity: quota,
        leakPerSecond: rateOf(policy, instances),
        maxDelaySeconds,
        maxDebt: debtOf(policy),
      })
    }
    case 'fixed-window': {
      const { anchor, windowUs } = policy
      return fixedWindow({ ...common, quota, windowSeconds: windowUs / 1e6, anchor, maxDebt: debtOf(policy) })
    }
    case 'sliding-window-log':
      return slidingWindowLog({
        ...common,
        quota,
        windowSeconds: policy.windowUs / 1e6,
        maxDebt: debtOf(policy),
      })
    case 'sliding-window-counter':
      return slidingWindowCounter({
        ...common,
        quota,
        windowSeconds: policy.windowUs / 1e6,
        maxDebt: debtOf(policy),
      })
    case 'concurrency':
      return concurrency({ name, by, perScope, limit: quota, leaseSeconds: policy.leaseUs / 1e6 })
  }
}

function rateOf({ ratePerSecond }: { readonly ratePerSecond: number }, instances: number): number {
  return Math.max(SLOWEST, ratePerSecond / instances)
}
