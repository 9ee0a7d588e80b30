import { expected, expectObject, expectOnly, show } from './expect.js'
import { expectPolicies } from './policies.js'
import { keptName, made, type Policy } from './policy.js'

/** Lists of policies by the name of a plan. */
export type Plans = { readonly [plan: string]: readonly Policy[] }

/** What a limiter goes by: one list of policies, or one for each plan. */
export interface Rules {
  /** The policies that decide, of all plans, each once. */
  readonly live: readonly Policy[]
  /** The policies that are only tried: shadows and candidates of all plans, each once. */
  readonly tried: readonly Policy[]
  /** Both. */
  readonly all: readonly Policy[]
  /** The policies of a plan. @throws RangeError when there is no such plan and no default */
  policiesOf(plan: string | undefined): Chosen
}

export interface Chosen {
  /** Absent where there are no plans. */
  readonly plan?: string
  /** Those that decide. */
  readonly policies: readonly Policy[]
  /** Those that are tried beside them, one by one. */
  readonly shadows: readonly Policy[]
  /** Those that are tried in their place, together; of none, empty. */
  readonly candidate: readonly Policy[]
  /** All of them, in this order. */
  readonly all: readonly Policy[]
  /** Whether any of those that decide counts per scope. */
  readonly perScope: boolean
}

/** What rules are made from, as it was given. */
export interface Given {
  readonly policies: unknown
  readonly plans: unknown
  readonly defaultPlan: unknown
  readonly candidate: unknown
}

const PLAN = /^[\x21-\x7e]{1,64}$/

/**
 * Checks what a limiter is given to go by.
 * @param applied a policy as this limiter applies it
 * @throws TypeError naming the option, the value and the rule
 */
export function rulesFrom(
  { policies, plans, defaultPlan, candidate }: Given,
  applied: (policy: Policy) => Policy,
): Rules {
  const members = createMembers(applied)
  if (plans === undefined) {
    expectPolicies(policies)
    if (defaultPlan !== undefined) throw new TypeError('defaultPlan is for a limiter with plans')
    const own = chosenFrom(members, policies, candidateOf(candidate, 'candidate'))
    return { ...membersOf([own]), policiesOf: withoutPlans(own) }
  }
  if (policies !== undefined) throw new TypeError('Expected either policies or plans, got both')
  const lists = listsOf(members, plans, candidate)
  expectUnits(lists)
  if (defaultPlan !== undefined && !lists.has(defaultPlan as string))
    throw new TypeError(
      expected('defaultPlan', `one of ${[...lists.keys()].map(show).join(', ')}`, defaultPlan),
    )
  return {
    ...membersOf([...lists.values()]),
    policiesOf(plan) {
      const chosen = lists.get(plan as string) ?? lists.get(defaultPlan as string)
      if (chosen === undefined)
        throw new RangeError(expected('plan', `one of ${[...lists.keys()].map(show).join(', ')}`, plan))
      return chosen
    },
  }
}

/** Policies as a limiter applies them; one that is in several lists stays one. */
interface Members {
  live(policy: Policy): Policy
  candidate(policy: Policy): Policy
}

function createMembers(applied: (policy: Policy) => Policy): Members {
  const once = (make: (policy: Policy) => Policy) => {
    const known = new Map<Policy, Policy>()
    return (policy: Policy): Policy => {
      const own = known.get(policy) ?? make(policy)
      known.set(policy, own)
      return own
    }
  }
  return {
    live: once(applied),
    candidate: once((policy) => applied(made({ ...policy, candidate: true as const }))),
  }
}

function chosenFrom(
  members: Members,
  given: readonly Policy[],
  tried: readonly Policy[],
  plan?: string,
): Chosen {
  const own = given.map(members.live)
  const policies = Object.freeze(own.filter(({ shadow }) => !shadow))
  const shadows = own.filter(({ shadow }) => shadow)
  const candidate = tried.map(members.candidate)
  const all = [...policies, ...shadows, ...candidate]
  const perScope = policies.some((policy) => policy.perScope)
  return { ...(plan !== undefined && { plan }), policies, shadows, candidate, all, perScope }
}

function membersOf(lists: readonly Chosen[]): Pick<Rules, 'live' | 'tried' | 'all'> {
  const live = Object.freeze([...new Set(lists.flatMap(({ policies }) => policies))])
  const tried = Object.freeze([
    ...new Set(lists.flatMap(({ shadows, candidate }) => [...shadows, ...candidate])),
  ])
  return { live, tried, all: [...live, ...tried] }
}

function withoutPlans(own: Chosen): (plan: string | undefined) => Chosen {
  return (plan) => {
    if (plan !== undefined) throw new TypeError(`This limiter has no plans, got plan ${show(plan)}`)
    return own
  }
}

function listsOf(members: Members, plans: unknown, candidate: unknown): ReadonlyMap<string, Chosen> {
  expectObject('plans', plans)
  const candidates = candidate === undefined ? {} : candidate
  expectObject('candidate of a limiter with plans', candidates)
  expectOnly('candidate', candidates, Object.keys(plans))
  const lists = new Map<string, Chosen>()
  for (const [plan, policies] of Object.entries(plans)) {
    if (!PLAN.test(plan))
      throw new TypeError(expected('each name of plans', '1 to 64 printable ASCII characters', plan))
    expectPolicies(policies, `plans.${plan}`)
    const own = Object.hasOwn(candidates, plan)
      ? (candidates as Readonly<Record<string, unknown>>)[plan]
      : undefined
    lists.set(plan, chosenFrom(members, policies, candidateOf(own, `candidate.${plan}`), plan))
  }
  if (lists.size === 0) throw new TypeError('Expected plans to have at least one plan, got none')
  return lists
}

/** Policies of two plans that share what they count must count the same. */
function expectUnits(lists: ReadonlyMap<string, Chosen>): void {
  const known = new Map<string, readonly [plan: string, unit: string]>()
  for (const [plan, { all }] of lists)
    for (const policy of all) {
      const { name, algorithm, by, perScope, unit } = policy
      const shared = [keptName(policy), algorithm, by, perScope].join(' ')
      const [other, its] = known.get(shared) ?? [plan, unit]
      known.set(shared, [other, its])
      if (its !== unit)
        throw new TypeError(
          `Expected the policies ${show(name)} of the plans ${show(other)} and ${show(plan)}, which share what they count, to have one unit, got ${show(its)} and ${show(unit)}`,
        )
    }
}

function candidateOf(given: unknown, option: string): readonly Policy[] {
  if (given === undefined) return []
  expectPolicies(given, option)
  for (const { name, shadow } of given)
    if (shadow)
      throw new TypeError(`Expected no shadow in ${option}, which is tried as a whole, got ${show(name)}`)
  return given
}
