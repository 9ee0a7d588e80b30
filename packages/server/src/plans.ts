import { expected, expectObject, show } from './expect.js'
import { expectPolicies } from './policies.js'
import type { Policy } from './policy.js'

/** Lists of policies by the name of a plan. */
export type Plans = { readonly [plan: string]: readonly Policy[] }

/** What a limiter goes by: one list of policies, or one for each plan. */
export interface Rules {
  /** The policies of all plans, each once. */
  readonly all: readonly Policy[]
  /** The policies of a plan. @throws RangeError when there is no such plan and no default */
  policiesOf(plan: string | undefined): Chosen
}

export interface Chosen {
  /** Absent where there are no plans. */
  readonly plan?: string
  readonly policies: readonly Policy[]
}

const PLAN = /^[\x21-\x7e]{1,64}$/

/**
 * Checks what a limiter is given to go by.
 * @param applied a policy as this limiter applies it
 * @throws TypeError naming the option, the value and the rule
 */
export function rulesFrom(
  policies: unknown,
  plans: unknown,
  defaultPlan: unknown,
  applied: (policy: Policy) => Policy,
): Rules {
  if (plans === undefined) {
    expectPolicies(policies)
    if (defaultPlan !== undefined) throw new TypeError('defaultPlan is for a limiter with plans')
    const own: Chosen = { policies: Object.freeze(policies.map(applied)) }
    return { all: own.policies, policiesOf: withoutPlans(own) }
  }
  if (policies !== undefined) throw new TypeError('Expected either policies or plans, got both')
  const lists = listsOf(plans, applied)
  if (defaultPlan !== undefined && !lists.has(defaultPlan as string))
    throw new TypeError(
      expected('defaultPlan', `one of ${[...lists.keys()].map(show).join(', ')}`, defaultPlan),
    )
  return {
    all: Object.freeze([...new Set([...lists.values()].flatMap(({ policies: own }) => own))]),
    policiesOf(plan) {
      const chosen = lists.get(plan as string) ?? lists.get(defaultPlan as string)
      if (chosen === undefined)
        throw new RangeError(expected('plan', `one of ${[...lists.keys()].map(show).join(', ')}`, plan))
      return chosen
    },
  }
}

function withoutPlans(own: Chosen): (plan: string | undefined) => Chosen {
  return (plan) => {
    if (plan !== undefined) throw new TypeError(`This limiter has no plans, got plan ${show(plan)}`)
    return own
  }
}

function listsOf(plans: unknown, applied: (policy: Policy) => Policy): ReadonlyMap<string, Chosen> {
  expectObject('plans', plans)
  const lists = new Map<string, Chosen>()
  for (const [plan, policies] of Object.entries(plans)) {
    if (!PLAN.test(plan))
      throw new TypeError(expected('each name of plans', '1 to 64 printable ASCII characters', plan))
    expectPolicies(policies, `plans.${plan}`)
    lists.set(plan, { plan, policies: Object.freeze(policies.map(applied)) })
  }
  if (lists.size === 0) throw new TypeError('Expected plans to have at least one plan, got none')
  return lists
}
