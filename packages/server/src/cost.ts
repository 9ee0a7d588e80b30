import { expected, expectInteger, expectOnly } from './expect.js'
import type { Policy } from './policy.js'

/**
 * Units that a call takes: a number for every policy counted in requests, or a record by policy name.
 * A policy that is not named takes 1 if it counts requests or bounds concurrency, else nothing. 0 is legal.
 */
export type Cost<Name extends string = string> = number | { readonly [N in Name]?: number }

const MOST = 1e12

/** The cost of a call for one policy. @throws RangeError or TypeError naming the value and the rule */
export function costOf(cost: Cost | undefined, policy: Policy): number {
  const usual = policy.unit === 'requests' || policy.algorithm === 'concurrency' ? 1 : 0
  if (cost === undefined) return usual
  if (typeof cost === 'number') return policy.unit === 'requests' ? cost : usual
  return Object.hasOwn(cost, policy.name) ? (cost[policy.name] ?? usual) : usual
}

/** @param what what the caller calls it. @throws RangeError or TypeError naming the value and the rule */
export function expectCost(cost: unknown, policies: readonly Policy[], what = 'cost'): void {
  if (cost === undefined) return
  if (typeof cost !== 'object' || cost === null) {
    expectInteger(what, cost, 0, MOST)
    // It would be charged to nothing, and the caller would think that it was.
    if (cost !== 0 && policies.length > 0 && !policies.some(({ unit }) => unit === 'requests'))
      throw new TypeError(expected(what, 'a record by policy name, since no policy counts requests', cost))
    return
  }
  if (Array.isArray(cost)) throw new TypeError(expected(what, 'a number or a record by policy name', cost))
  expectOnly(
    what,
    cost,
    policies.map(({ name }) => name),
  )
  for (const [name, units] of Object.entries(cost))
    if (units !== undefined) expectInteger(`${what}.${name}`, units, 0, MOST)
}
