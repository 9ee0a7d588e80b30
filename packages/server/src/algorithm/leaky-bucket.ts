import { expected } from '../expect.js'
import {
  type By,
  commonOptions,
  made,
  type PolicyCommon,
  type PolicyOptions,
  type Shadowed,
} from '../policy.js'
import { type BucketNumbers, bucketNumbers } from './token-bucket.js'

/** A queue: what fits in it is admitted with a delay, so that calls leave it at a steady rate. */
export interface LeakyBucketPolicy<Name extends string = string, Kind extends string = string>
  extends PolicyCommon<Name, Kind>,
    BucketNumbers {
  readonly algorithm: 'leaky-bucket'
  readonly ratePerSecond: number
}

export interface LeakyBucketOptions<Name extends string = string> extends PolicyOptions<Name> {
  /** Places in the queue: a whole number, at least 1. Stated as `q`. */
  readonly capacity: number
  /** Calls that leave the queue each second: from 1 per 31 days to 1 000 000. */
  readonly leakPerSecond: number
  /** A call that would have to wait longer is refused. @default as long as the queue is deep */
  readonly maxDelaySeconds?: number
  /**
   * The debt that `settle` may run up where a call cost more than was left: units beyond the capacity, which have to come
   * back before anything passes again. What goes beyond it is not counted. @default the capacity
   */
  readonly maxDebt?: number
}

/**
 * A leaky bucket: a queue that calls leave at a steady rate. The decision says how long the call must be held.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example leakyBucket({ name: 'smooth', capacity: 20, leakPerSecond: 5 })
 */
export function leakyBucket<const Name extends string, Shadow extends boolean = false>(
  options: LeakyBucketOptions<Name> & { readonly by?: undefined; readonly shadow?: Shadow },
): Shadowed<LeakyBucketPolicy<Name, 'client'>, Shadow>
export function leakyBucket<
  const Name extends string,
  const Kind extends string,
  Shadow extends boolean = false,
>(
  options: LeakyBucketOptions<Name> & { readonly by: Kind; readonly shadow?: Shadow },
): Shadowed<LeakyBucketPolicy<Name, Kind>, Shadow>
export function leakyBucket<Name extends string>(
  options: LeakyBucketOptions<Name> & By,
): LeakyBucketPolicy<Name> {
  const common = commonOptions(
    'leakyBucket',
    ['capacity', 'leakPerSecond', 'maxDelaySeconds', 'maxDebt'],
    options,
  )
  const numbers = bucketNumbers(common.name, options, 'leakPerSecond', options.leakPerSecond)
  const { maxDelaySeconds } = options
  if (maxDelaySeconds !== undefined && !(typeof maxDelaySeconds === 'number' && maxDelaySeconds >= 0))
    throw new RangeError(
      expected(
        `maxDelaySeconds of policy "${common.name}"`,
        'a number of seconds, 0 or more',
        maxDelaySeconds,
      ),
    )
  const delayTicks = Math.floor((maxDelaySeconds ?? Number.POSITIVE_INFINITY) * 1e6 * numbers.ticks.rate)
  return made({
    algorithm: 'leaky-bucket' as const,
    refill: 'bucket' as const,
    ...common,
    ...numbers,
    queueTicks: Math.min(numbers.queueTicks, delayTicks),
  })
}
