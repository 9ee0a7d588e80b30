import { expected, expectInteger } from '../expect.js'
import {
  type By,
  commonOptions,
  made,
  type PolicyCommon,
  type PolicyOptions,
  type Shadowed,
} from '../policy.js'

/** Places that calls take while they run, and give back when they end. */
export interface ConcurrencyPolicy<Name extends string = string, Kind extends string = string>
  extends PolicyCommon<Name, Kind> {
  readonly algorithm: 'concurrency'
  readonly leaseUs: number
}

export interface ConcurrencyOptions<Name extends string = string> extends Omit<PolicyOptions<Name>, 'unit'> {
  /** Calls that may run at once: a whole number from 1 to 10 000. */
  readonly limit: number
  /** After this long without `renew` a place is taken back: the caller may have died. From 0.1 to 86 400. */
  readonly leaseSeconds: number
}

/**
 * A bound on calls that run at once. A place is held until `release(decision)`, or until its lease ends.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example concurrency({ name: 'reports', limit: 4, leaseSeconds: 60 })
 */
export function concurrency<const Name extends string, Shadow extends boolean = false>(
  options: ConcurrencyOptions<Name> & { readonly by?: undefined; readonly shadow?: Shadow },
): Shadowed<ConcurrencyPolicy<Name, 'client'>, Shadow>
export function concurrency<
  const Name extends string,
  const Kind extends string,
  Shadow extends boolean = false,
>(
  options: ConcurrencyOptions<Name> & { readonly by: Kind; readonly shadow?: Shadow },
): Shadowed<ConcurrencyPolicy<Name, Kind>, Shadow>
export function concurrency<Name extends string>(
  options: ConcurrencyOptions<Name> & By,
): ConcurrencyPolicy<Name> {
  const common = commonOptions('concurrency', ['limit', 'leaseSeconds'], options, 'concurrent-requests')
  const { limit, leaseSeconds } = options
  expectInteger(`limit of policy "${common.name}"`, limit, 1, 10_000)
  if (!(typeof leaseSeconds === 'number' && leaseSeconds >= 0.1 && leaseSeconds <= 86_400))
    throw new RangeError(
      expected(
        `leaseSeconds of policy "${common.name}"`,
        'a number of seconds from 0.1 to 86400',
        leaseSeconds,
      ),
    )
  return made({
    algorithm: 'concurrency' as const,
    ...common,
    quota: limit,
    leaseUs: Math.round(leaseSeconds * 1e6),
  })
}
