import { bucketNumbers } from '../algorithm/token-bucket.js'
import type { Policy } from '../policy.js'

/** The part of a policy that one of `count` shards keeps: of its quota and of its rate. The parts add up to the whole. */
export function shardPolicy(policy: Policy, count: number, index: number): Policy {
  const quota = Math.floor(policy.quota / count) + (index < policy.quota % count ? 1 : 0)
  if (policy.algorithm === 'concurrency') return Object.freeze({ ...policy, quota })
  const maxDebt = Math.floor(policy.maxDebt / count)
  if (policy.algorithm !== 'token-bucket' && policy.algorithm !== 'leaky-bucket')
    return Object.freeze({ ...policy, quota, maxDebt })
  const { name, ratePerSecond, windowSeconds, ticks, queueTicks } = policy
  const option = policy.algorithm === 'token-bucket' ? 'refillPerSecond' : 'leakPerSecond'
  const numbers = bucketNumbers(
    name,
    { capacity: quota, maxDebt },
    `${option} / shards`,
    ratePerSecond / count,
  )
  // A call waits as long in the queue of a shard as it would in the whole.
  const longestTicks = Math.floor((queueTicks / ticks.rate) * numbers.ticks.rate)
  const own = { ...numbers, windowSeconds, queueTicks: Math.min(numbers.queueTicks, longestTicks) }
  return Object.freeze({ ...policy, ...own } as Policy)
}
