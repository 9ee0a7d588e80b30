import { expected, expectOneOf } from '../expect.js'
import type { Limiter } from '../limiter.js'
import type { AnyHttpOptions } from './options.js'

/**
 * Tells at once of a plan by which every call would fail. Of a function it is known only when there is a call.
 * @throws TypeError or RangeError naming the plan and what it may be
 */
export function expectPlan(options: AnyHttpOptions, limiter: Partial<Pick<Limiter, 'policiesOf'>>): void {
  const { policies, plan } = options
  const plans = 'plans' in options ? options.plans : undefined
  if (plan !== undefined && policies !== undefined)
    throw new TypeError(expected('plan', 'left out where there are policies and no plans', plan))
  if (typeof plan === 'function') return
  // With a default the limiter itself takes any; one of the user's making may have no plans to name.
  if (plan !== undefined && plans !== undefined) expectOneOf('plan', plan, Object.keys(plans))
  limiter.policiesOf?.(plan)
}
