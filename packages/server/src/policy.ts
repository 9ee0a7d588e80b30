import type { Refill } from '@ratepact/contract'
import type { ConcurrencyPolicy } from './algorithm/concurrency.js'
import type { FixedWindowPolicy } from './algorithm/fixed-window.js'
import type { LeakyBucketPolicy } from './algorithm/leaky-bucket.js'
import type { SlidingWindowCounterPolicy } from './algorithm/sliding-window-counter.js'
import type { SlidingWindowLogPolicy } from './algorithm/sliding-window-log.js'
import type { TokenBucketPolicy } from './algorithm/token-bucket.js'
import { expected, expectObject, expectOneOf, expectOnly } from './expect.js'

/** What every policy has, whatever its algorithm. */
export interface PolicyCommon<Name extends string = string, Kind extends string = string> {
  readonly name: Name
  /** Which kind of partition it counts. */
  readonly by: Kind
  /** One bucket per scope (method and route), or one over all of them. */
  readonly perScope: boolean
  /** What is counted. */
  readonly unit: string
  /** Whether it is only tried: judged beside the policies that decide, and of no effect on any call. */
  readonly shadow: boolean
  /**
   * Set by a limiter on the policies of its `candidate`: what they count is kept apart from what a policy of the same
   * name counts that decides.
   */
  readonly candidate?: true
  /** Units allowed at most: stated as `q`. */
  readonly quota: number
  /** Whole seconds: stated as `w`. */
  readonly windowSeconds?: number
  /** How units come back, for the hint `ratepact-refill`. */
  readonly refill?: Refill
  /** Units per second, where they come back steadily. */
  readonly ratePerSecond?: number
  /** For how long (µs) a call may be held until its units are there. Only a limiter made with `hold` sets it. */
  readonly holdUs?: number
}

/** The options that every policy builder takes. */
export interface PolicyOptions<Name extends string = string> {
  /** `/^[a-z][a-z0-9_.-]{0,63}$/`, unique within a limiter. It is stated on the wire. */
  readonly name: Name
  /** One bucket per scope instead of one over all scopes. @default false */
  readonly perScope?: boolean
  /** What is counted (draft-11 section 3.1.2). @default 'requests' */
  readonly unit?: string
  /**
   * Tries the policy out: it is judged as if it were added to the others, and charged where they admit a call that
   * it admits too; but it refuses nothing, and is told of in `decision.shadow` and events only. @default false
   */
  readonly shadow?: boolean
}

/** A rule: how much of what, for whom. Made by a builder such as `tokenBucket`. */
export type Policy<Name extends string = string, Kind extends string = string> =
  | TokenBucketPolicy<Name, Kind>
  | LeakyBucketPolicy<Name, Kind>
  | FixedWindowPolicy<Name, Kind>
  | SlidingWindowLogPolicy<Name, Kind>
  | SlidingWindowCounterPolicy<Name, Kind>
  | ConcurrencyPolicy<Name, Kind>

/** A policy that is known to be a shadow, where its builder was told so. */
export type Shadowed<P extends PolicyCommon, Shadow extends boolean> = [Shadow] extends [true]
  ? P & { readonly shadow: true }
  : P

/** The names in a list of policies. */
export type NameOf<P extends readonly Policy[]> = P[number]['name']
/** The names of those that may refuse a call: all but shadows. */
export type LiveNameOf<P extends readonly Policy[]> = Live<P[number]>['name']
type Live<P> = P extends { readonly shadow: true } ? never : P
/** The kinds of partition that a list of policies counts. */
export type KindOf<P extends readonly Policy[]> = P[number]['by']

/** Who is counted, as the caller of a builder may say it. */
export interface By<Kind extends string = string> {
  /** Which kind of partition is counted. @default 'client' */
  readonly by?: Kind | undefined
}

const NAME = /^[a-z][a-z0-9_.-]{0,63}$/
/** What a kind of partition may be called. */
export const KIND: RegExp = /^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/
const UNIT = /^[\x20-\x7e]{1,64}$/
const COMMON = ['name', 'by', 'perScope', 'unit', 'shadow']

/**
 * Checks the options shared by all builders, refuses unknown ones, and fills in the defaults.
 * @param ownUnit what is counted, where that is no choice
 */
export function commonOptions<Name extends string>(
  builder: string,
  own: readonly string[],
  options: PolicyOptions<Name> & By,
  ownUnit?: string,
): Pick<PolicyCommon<Name>, 'name' | 'by' | 'perScope' | 'unit' | 'shadow'> {
  expectObject(`the options of ${builder}`, options)
  const taken = [...COMMON, ...own]
  expectOnly(builder, options, ownUnit === undefined ? taken : taken.filter((option) => option !== 'unit'))
  const { name, by = 'client', perScope = false, unit = ownUnit ?? 'requests', shadow = false } = options
  if (typeof name !== 'string' || !NAME.test(name))
    throw new TypeError(expected('name', `a policy name matching ${NAME.source}`, name))
  if (typeof by !== 'string' || !KIND.test(by))
    throw new TypeError(expected(`by of policy "${name}"`, `a kind of partition matching ${KIND.source}`, by))
  expectOneOf(`perScope of policy "${name}"`, perScope, [true, false])
  expectOneOf(`shadow of policy "${name}"`, shadow, [true, false])
  if (typeof unit !== 'string' || !UNIT.test(unit))
    throw new TypeError(expected(`unit of policy "${name}"`, '1 to 64 printable ASCII characters', unit))
  return { name, by, perScope, unit, shadow }
}

/** Known to every copy of this package, and no property that is copied with a policy. */
const MADE = Symbol.for('ratepact.policy')

/** A policy whose numbers have been checked, which nobody changes any more. */
export function made<P extends Policy>(policy: P): P {
  Object.defineProperty(policy, MADE, { value: true })
  return Object.freeze(policy)
}

/** Whether a builder made it, and nobody has since made another of it. */
export function isMade(policy: unknown): policy is Policy {
  return typeof policy === 'object' && policy !== null && Object.hasOwn(policy, MADE)
}

/** The name that what a policy counts is kept by. No policy is called so: a candidate shares nothing with who decides. */
export function keptName({ name, candidate }: Policy): string {
  return candidate === true ? `~${name}` : name
}
