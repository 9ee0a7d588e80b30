import {
  type By,
  commonOptions,
  made,
  type PolicyCommon,
  type PolicyOptions,
  type Shadowed,
} from '../policy.js'
import { type WindowNumbers, windowNumbers } from './window.js'

/** Two counts, of this window and the one before, weighed by how far this one has gone. */
export interface SlidingWindowCounterPolicy<Name extends string = string, Kind extends string = string>
  extends PolicyCommon<Name, Kind>,
    WindowNumbers {
  readonly algorithm: 'sliding-window-counter'
  readonly windowSeconds: number
}

export interface SlidingWindowCounterOptions<Name extends string = string> extends PolicyOptions<Name> {
  /** Units in a window: a whole number, at least 1. */
  readonly quota: number
  /** Length of the window, from 0.001 to 366 days. Stated in whole seconds, rounded up. */
  readonly windowSeconds: number
  /**
   * The debt that `settle` may run up where a call cost more than was left: units beyond the quota, which have to come
   * back before anything passes again. What goes beyond it is not counted. @default the quota
   */
  readonly maxDebt?: number
}

/**
 * A sliding window counter: about `quota` units in any window, for the price of two numbers. It takes the calls of the
 * window before as spread evenly; where they were not, up to twice the quota may pass in one window.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example slidingWindowCounter({ name: 'minute', quota: 60, windowSeconds: 60 })
 */
export function slidingWindowCounter<const Name extends string, Shadow extends boolean = false>(
  options: SlidingWindowCounterOptions<Name> & { readonly by?: undefined; readonly shadow?: Shadow },
): Shadowed<SlidingWindowCounterPolicy<Name, 'client'>, Shadow>
export function slidingWindowCounter<
  const Name extends string,
  const Kind extends string,
  Shadow extends boolean = false,
>(
  options: SlidingWindowCounterOptions<Name> & { readonly by: Kind; readonly shadow?: Shadow },
): Shadowed<SlidingWindowCounterPolicy<Name, Kind>, Shadow>
export function slidingWindowCounter<Name extends string>(
  options: SlidingWindowCounterOptions<Name> & By,
): SlidingWindowCounterPolicy<Name> {
  const common = commonOptions('slidingWindowCounter', ['quota', 'windowSeconds', 'maxDebt'], options)
  return made({
    algorithm: 'sliding-window-counter' as const,
    refill: 'counter' as const,
    ...common,
    ...windowNumbers(common.name, options),
  })
}
