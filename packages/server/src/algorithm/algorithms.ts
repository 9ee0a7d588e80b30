import type { Policy } from '../policy.js'
import { bucketMeter } from './bucket.js'
import { concurrencyMeter } from './concurrency-leases.js'
import { fixedWindowMeter } from './fixed-window-count.js'
import type { Meter } from './meter.js'
import { slidingCounterMeter } from './sliding-counter-count.js'
import { slidingLogMeter } from './sliding-log-record.js'

/** The arithmetic of a policy's algorithm. */
export function meterOf(policy: Policy): Meter {
  return meterFor(policy.algorithm) as Meter
}

/** A lookup by name in a table would take longer than many a decision. */
function meterFor(algorithm: Policy['algorithm']) {
  switch (algorithm) {
    case 'token-bucket':
    case 'leaky-bucket':
      return bucketMeter
    case 'fixed-window':
      return fixedWindowMeter
    case 'sliding-window-log':
      return slidingLogMeter
    case 'sliding-window-counter':
      return slidingCounterMeter
    case 'concurrency':
      return concurrencyMeter
  }
}
