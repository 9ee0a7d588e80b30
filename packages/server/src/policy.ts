import type { TokenBucketPolicy } from './algorithm/token-bucket.js'
import { expected, expectOneOf } from './expect.js'

/** What every policy has, whatever its algorithm. */
export interface PolicyCommon<Name extends string = string, Kind extends string = string> {
  readonly name: Name
  /** Which kind of partition it counts. */
  readonly by: Kind
  /** One bucket per scope (method and route), or one over all of them. */
  readonly perScope: boolean
  /** What is counted. */
  readonly unit: string
}

/** The options that every policy builder takes. */
export interface PolicyOptions<Name extends string = string> {
  /** `/^[a-z][a-z0-9_.-]{0,63}$/`, unique within a limiter. It is stated on the wire. */
  readonly name: Name
  /** One bucket per scope instead of one over all scopes. @default false */
  readonly perScope?: boolean
  /** What is counted (draft-11 section 3.1.2). @default 'requests' */
  readonly unit?: string
}

/** A rule: how much of what, for whom. Made by a builder such as `tokenBucket`. */
export type Policy<Name extends string = string, Kind extends string = string> = TokenBucketPolicy<Name, Kind>

/** The names in a list of policies. */
export type NameOf<P extends readonly Policy[]> = P[number]['name']
/** The kinds of partition that a list of policies counts. */
export type KindOf<P extends readonly Policy[]> = P[number]['by']

const NAME = /^[a-z][a-z0-9_.-]{0,63}$/
const KIND = /^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/
const UNIT = /^[\x20-\x7e]{1,64}$/

export const POLICY_OPTIONS: readonly string[] = ['name', 'by', 'perScope', 'unit']

/** Checks the options shared by all builders and fills in their defaults. */
export function commonOptions<Name extends string>(
  options: PolicyOptions<Name> & { readonly by?: string | undefined },
): PolicyCommon<Name> {
  const { name, by = 'client', perScope = false, unit = 'requests' } = options
  if (typeof name !== 'string' || !NAME.test(name))
    throw new TypeError(expected('name', `a policy name matching ${NAME.source}`, name))
  if (typeof by !== 'string' || !KIND.test(by))
    throw new TypeError(expected(`by of policy "${name}"`, `a kind of partition matching ${KIND.source}`, by))
  expectOneOf(`perScope of policy "${name}"`, perScope, [true, false])
  if (typeof unit !== 'string' || !UNIT.test(unit))
    throw new TypeError(expected(`unit of policy "${name}"`, '1 to 64 printable ASCII characters', unit))
  return { name, by, perScope, unit }
}
