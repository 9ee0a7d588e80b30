import { expectOneOf } from '../expect.js'
import {
  type By,
  commonOptions,
  made,
  type PolicyCommon,
  type PolicyOptions,
  type Shadowed,
} from '../policy.js'
import { type WindowNumbers, windowNumbers } from './window.js'

/** A quota for each of the windows that time is cut into. */
export interface FixedWindowPolicy<Name extends string = string, Kind extends string = string>
  extends PolicyCommon<Name, Kind>,
    WindowNumbers {
  readonly algorithm: 'fixed-window'
  readonly windowSeconds: number
  readonly anchor: 'epoch' | 'first-request'
}

export interface FixedWindowOptions<Name extends string = string> extends PolicyOptions<Name> {
  /** Units in each window: a whole number, at least 1. */
  readonly quota: number
  /** Length of a window, from 0.001 to 366 days. Stated in whole seconds, rounded up. */
  readonly windowSeconds: number
  /** Where windows begin: at whole multiples of their length since 1970, or with a client's first call. @default 'epoch' */
  readonly anchor?: 'epoch' | 'first-request'
  /**
   * The debt that `settle` may run up where a call cost more than was left: units beyond the quota, which have to come
   * back before anything passes again. What goes beyond it is not counted. @default the quota
   */
  readonly maxDebt?: number
}

/**
 * A fixed window: `quota` calls in each window; up to twice as many may pass around an edge between two.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example fixedWindow({ name: 'daily', quota: 10_000, windowSeconds: 86_400 })
 */
export function fixedWindow<const Name extends string, Shadow extends boolean = false>(
  options: FixedWindowOptions<Name> & { readonly by?: undefined; readonly shadow?: Shadow },
): Shadowed<FixedWindowPolicy<Name, 'client'>, Shadow>
export function fixedWindow<
  const Name extends string,
  const Kind extends string,
  Shadow extends boolean = false,
>(
  options: FixedWindowOptions<Name> & { readonly by: Kind; readonly shadow?: Shadow },
): Shadowed<FixedWindowPolicy<Name, Kind>, Shadow>
export function fixedWindow<Name extends string>(
  options: FixedWindowOptions<Name> & By,
): FixedWindowPolicy<Name> {
  const common = commonOptions('fixedWindow', ['quota', 'windowSeconds', 'maxDebt', 'anchor'], options)
  const { anchor = 'epoch' } = options
  expectOneOf(`anchor of policy "${common.name}"`, anchor, ['epoch', 'first-request'])
  return made({
    algorithm: 'fixed-window' as const,
    refill: 'window' as const,
    ...common,
    ...windowNumbers(common.name, options),
    anchor,
  })
}
