import { expected, expectInteger, expectObject, expectOnly } from '../expect.js'
import { commonOptions, POLICY_OPTIONS, type PolicyCommon, type PolicyOptions } from '../policy.js'
import { type Ticks, ticksFor } from './ticks.js'

/** Units that come back one by one, at a steady rate, up to a capacity. */
export interface TokenBucketPolicy<Name extends string = string, Kind extends string = string>
  extends PolicyCommon<Name, Kind> {
  readonly algorithm: 'token-bucket'
  /** The most units that can be there. */
  readonly capacity: number
  readonly refillPerSecond: number
  readonly ticks: Ticks
}

export interface TokenBucketOptions<Name extends string = string> extends PolicyOptions<Name> {
  /** The largest burst: a whole number of units, at least 1. Stated as `q`. */
  readonly capacity: number
  /** Units that come back each second: from 1 per 31 days to 1 000 000. Fractions are fine. */
  readonly refillPerSecond: number
}

const SLOWEST = 1 / (31 * 86_400)
const FASTEST = 1_000_000

/**
 * A token bucket: `capacity` calls at once, then `refillPerSecond` steadily.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })
 */
export function tokenBucket<const Name extends string>(
  options: TokenBucketOptions<Name> & { readonly by?: undefined },
): TokenBucketPolicy<Name, 'client'>
export function tokenBucket<const Name extends string, const Kind extends string>(
  options: TokenBucketOptions<Name> & { readonly by: Kind },
): TokenBucketPolicy<Name, Kind>
export function tokenBucket<Name extends string>(
  options: TokenBucketOptions<Name> & { readonly by?: string | undefined },
): TokenBucketPolicy<Name> {
  expectObject('the options of tokenBucket', options)
  expectOnly('tokenBucket', options, [...POLICY_OPTIONS, 'capacity', 'refillPerSecond'])
  const common = commonOptions(options)
  const { capacity, refillPerSecond } = options
  expectInteger(`capacity of policy "${common.name}"`, capacity, 1, 1e12)
  if (!(typeof refillPerSecond === 'number' && refillPerSecond >= SLOWEST && refillPerSecond <= FASTEST))
    throw new RangeError(
      expected(
        `refillPerSecond of policy "${common.name}"`,
        'a number from 1 per 31 days to 1000000',
        refillPerSecond,
      ),
    )
  const ticks = ticksFor(capacity, refillPerSecond)
  if (ticks === undefined)
    throw new RangeError(
      `Expected capacity of policy "${common.name}" to refill within 70 years, got ${capacity} at ${refillPerSecond} per second`,
    )
  return Object.freeze({ algorithm: 'token-bucket' as const, ...common, capacity, refillPerSecond, ticks })
}
