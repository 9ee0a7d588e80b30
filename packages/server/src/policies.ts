import { expected, show } from './expect.js'
import { isMade, type Policy } from './policy.js'

const MOST = 32

/** Checks a list of policies: made by a builder, 1 to 32, no two of one name. */
export function expectPolicies(
  policies: unknown,
  option = 'policies',
): asserts policies is readonly Policy[] {
  if (!Array.isArray(policies) || policies.length < 1 || policies.length > MOST)
    throw new TypeError(
      expected(option, `an array of 1 to ${MOST} policies`, policies) + orPlans(option, policies),
    )
  const names = new Set<string>()
  for (const policy of policies as readonly unknown[]) {
    if (!isMade(policy))
      throw new TypeError(expected(`each of ${option}`, 'made by a builder such as tokenBucket(…)', policy))
    if (names.has(policy.name))
      throw new TypeError(`Expected each policy to have a name of its own, got ${show(policy.name)} twice`)
    names.add(policy.name)
  }
}

function orPlans(option: string, policies: unknown): string {
  return option === 'policies' && policies === undefined ? '; plans may be given in their place' : ''
}
