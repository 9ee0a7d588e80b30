import {
  type By,
  commonOptions,
  made,
  type PolicyCommon,
  type PolicyOptions,
  type Shadowed,
} from '../policy.js'
import { type WindowNumbers, windowNumbers } from './window.js'

/** Every call is remembered until its window has passed: in no window of the length given do more than the quota pass. */
export interface SlidingWindowLogPolicy<Name extends string = string, Kind extends string = string>
  extends PolicyCommon<Name, Kind>,
    WindowNumbers {
  readonly algorithm: 'sliding-window-log'
  readonly windowSeconds: number
}

export interface SlidingWindowLogOptions<Name extends string = string> extends PolicyOptions<Name> {
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
 * A sliding window log: never more than `quota` units in any window. Exact, and pays for it with a record per call.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example slidingWindowLog({ name: 'minute', quota: 60, windowSeconds: 60 })
 */
export function slidingWindowLog<const Name extends string, Shadow extends boolean = false>(
  options: SlidingWindowLogOptions<Name> & { readonly by?: undefined; readonly shadow?: Shadow },
): Shadowed<SlidingWindowLogPolicy<Name, 'client'>, Shadow>
export function slidingWindowLog<
  const Name extends string,
  const Kind extends string,
  Shadow extends boolean = false,
>(
  options: SlidingWindowLogOptions<Name> & { readonly by: Kind; readonly shadow?: Shadow },
): Shadowed<SlidingWindowLogPolicy<Name, Kind>, Shadow>
export function slidingWindowLog<Name extends string>(
  options: SlidingWindowLogOptions<Name> & By,
): SlidingWindowLogPolicy<Name> {
  const common = commonOptions('slidingWindowLog', ['quota', 'windowSeconds', 'maxDebt'], options)
  return made({
    algorithm: 'sliding-window-log' as const,
    refill: 'log' as const,
    ...common,
    ...windowNumbers(common.name, options),
  })
}
