import type { Policy } from '../policy.js'
import { bucketMeter } from './bucket.js'
import { concurrencyMeter } from './concurrency-leases.js'
import { fixedWindowMeter } from './fixed-window-count.js'
import type { Meter } from './meter.js'
import { slidingCounterMeter } from './sliding-counter-count.js'
import { slidingLogMeter } from './sliding-log-record.js'

const meters: { readonly [A in Policy['algorithm']]: Meter<Extract<Policy, { algorithm: A }>> } = {
  'token-bucket': bucketMeter,
  'leaky-bucket': bucketMeter,
  'fixed-window': fixedWindowMeter,
  'sliding-window-log': slidingLogMeter,
  'sliding-window-counter': slidingCounterMeter,
  concurrency: concurrencyMeter,
}

/** The arithmetic of a policy's algorithm. */
export function meterOf(policy: Policy): Meter {
  return meters[policy.algorithm] as Meter
}
