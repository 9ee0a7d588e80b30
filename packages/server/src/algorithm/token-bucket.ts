import { expected, expectInteger } from '../expect.js'
import {
  type By,
  commonOptions,
  made,
  type PolicyCommon,
  type PolicyOptions,
  type Shadowed,
} from '../policy.js'
import { type Debt, debtOf } from './debt.js'
import { type Ticks, ticksFor } from './ticks.js'

/** What the two bucket policies share: units are counted in ticks, and ticks come back steadily. */
export interface BucketNumbers extends Debt {
  readonly ticks: Ticks
  readonly ratePerSecond: number
  /** The most ticks that may be in use before a call for it to fit. */
  readonly queueTicks: number
}

/** Units that come back one by one, at a steady rate, up to a capacity. */
export interface TokenBucketPolicy<Name extends string = string, Kind extends string = string>
  extends PolicyCommon<Name, Kind>,
    BucketNumbers {
  readonly algorithm: 'token-bucket'
  readonly ratePerSecond: number
}

export interface TokenBucketOptions<Name extends string = string> extends PolicyOptions<Name> {
  /** The largest burst: a whole number of units, at least 1. Stated as `q`. */
  readonly capacity: number
  /** Units that come back each second: from 1 per 31 days to 1 000 000. Fractions are fine. */
  readonly refillPerSecond: number
  /**
   * The debt that `settle` may run up where a call cost more than was left: units beyond the capacity, which have to come
   * back before anything passes again. What goes beyond it is not counted. @default the capacity
   */
  readonly maxDebt?: number
}

export const SLOWEST: number = 1 / (31 * 86_400)
const FASTEST = 1_000_000

/**
 * A token bucket: `capacity` calls at once, then `refillPerSecond` steadily.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })
 */
export function tokenBucket<const Name extends string, Shadow extends boolean = false>(
  options: TokenBucketOptions<Name> & { readonly by?: undefined; readonly shadow?: Shadow },
): Shadowed<TokenBucketPolicy<Name, 'client'>, Shadow>
export function tokenBucket<
  const Name extends string,
  const Kind extends string,
  Shadow extends boolean = false,
>(
  options: TokenBucketOptions<Name> & { readonly by: Kind; readonly shadow?: Shadow },
): Shadowed<TokenBucketPolicy<Name, Kind>, Shadow>
export function tokenBucket<Name extends string>(
  options: TokenBucketOptions<Name> & By,
): TokenBucketPolicy<Name> {
  const common = commonOptions('tokenBucket', ['capacity', 'refillPerSecond', 'maxDebt'], options)
  const numbers = bucketNumbers(common.name, options, 'refillPerSecond', options.refillPerSecond)
  return made({
    algorithm: 'token-bucket' as const,
    refill: 'bucket' as const,
    ...common,
    ...numbers,
  })
}

/** Checks a capacity, a debt and a rate, and turns them into what is counted and stated. */
export function bucketNumbers(
  name: string,
  { capacity, maxDebt: debt }: { readonly capacity: number; readonly maxDebt?: number },
  rateOption: string,
  ratePerSecond: number,
): BucketNumbers & { readonly quota: number; readonly windowSeconds: number } {
  expectInteger(`capacity of policy "${name}"`, capacity, 1, 1e12)
  if (!(typeof ratePerSecond === 'number' && ratePerSecond >= SLOWEST && ratePerSecond <= FASTEST))
    throw new RangeError(
      expected(`${rateOption} of policy "${name}"`, 'a number from 1 per 31 days to 1000000', ratePerSecond),
    )
  const maxDebt = debtOf(name, capacity, debt)
  // What is counted is twice the first argument at most.
  const ticks = ticksFor(Math.max(capacity, (capacity + maxDebt) / 2), ratePerSecond)
  if (ticks === undefined)
    throw new RangeError(
      `Expected capacity and maxDebt of policy "${name}" to refill within 70 years each, got ${capacity} and ${maxDebt} at ${ratePerSecond} per second`,
    )
  // A quotient such as 100 / 0.1 may come out a hair above the whole number that it is.
  const windowSeconds = Math.max(1, Math.ceil(capacity / ratePerSecond - 1e-9))
  return { ticks, ratePerSecond, quota: capacity, windowSeconds, queueTicks: capacity * ticks.unit, maxDebt }
}
