import type { Clock, Draft, LegacyDialect } from '@ratepact/contract'
import type { Cost } from '../cost.js'
import { expected, expectFunction, expectObject, expectOneOf, expectOnly } from '../expect.js'
import { expectOnStoreFailure, type OnStoreFailure } from '../failure/mode.js'
import type { Limiter } from '../limiter.js'
import {
  type CandidatesOf,
  expectClock,
  LIMITER_OPTIONS,
  type LimiterOptions,
  type ListIn,
  type NoCandidates,
  type PlannedLimiterOptions,
} from '../limiter-options.js'
import type { PartitionInput } from '../partition.js'
import type { Plans } from '../plans.js'
import type { KindOf, LiveNameOf, NameOf, Policy } from '../policy.js'
import type { Answer } from './answer.js'
import type { Denied } from './denial.js'

/** How limits are stated. */
export interface HeaderOptions {
  /**
   * Whose parameter names: draft 11 (`r`, `t`), draft 12 (`a`, `w`, `c`; provisional) or both at once.
   * @default 11
   */
  readonly draft?: Draft
  /**
   * Whether to say more exactly what the drafts round: how a policy refills, its rate, waits in milliseconds.
   * Readers that do not know these parameters skip them.
   * @default true
   */
  readonly hints?: boolean
  /**
   * Whether to state one limit, the nearest to exhaustion, in an older dialect too: `'x-ratelimit'` (or `true`) in
   * `X-RateLimit-Limit`, `-Remaining` and `-Reset`, which is in seconds since 1970; `'draft-6'` in `RateLimit-Limit`,
   * `-Remaining` and `-Reset`, in seconds from now; `'draft-3'` in the same, with the policies in the first of them.
   * `'draft-7'` has the names `RateLimit` and `RateLimit-Policy` for something else than later drafts, and so takes
   * their place; `draft` has no meaning then.
   * @default false
   */
  readonly legacy?: boolean | LegacyDialect
  /**
   * A secret of 16 characters or more, the same in all processes: each limit is then stated with `pk`, 8 bytes of a hash
   * of whose it is by this secret. A client with several identities (keys of an API behind one address) can tell by it
   * which of its calls share units. No identity can be found from it without the secret.
   * @default none: only limits that count per scope have `pk`, a hash of the scope
   */
  readonly partitionKey?: string
}

/** What becomes of a call for which `partition` gave no value: count its address, fail, or let it pass uncounted. */
export type MissingPartition = 'address' | 'reject' | 'skip'

/** A function of the user's. In method form, so that it may ask for the framework's own, richer types. */
export type UserFunction<Args extends readonly unknown[], Result> = {
  call(...args: Args): Result | Promise<Result>
}['call']

/** A function of the user's about the answer to a call; in method form, as above. */
export type AnswerFunction<Args extends readonly unknown[], Result> = {
  call(answer: Answer, ...args: Args): Result | Promise<Result>
}['call']

/** The options that every adapter has; `Args` is what the framework calls a handler with. */
export interface HttpOptions<
  Name extends string,
  Kind extends string,
  Args extends readonly unknown[],
  DeniedArgs extends readonly unknown[],
> {
  /**
   * Who is calling: a text, or one for each kind that the policies count. A value may be missing.
   * @default the client's address, which serves policies that count `client`
   */
  readonly partition?: UserFunction<Args, PartitionInput<Kind>>
  /**
   * When a value is missing. `address`: the client's address counts in its place (and without an address the call
   * fails, so that strangers never share a bucket). `reject`: the call fails with a PartitionError, on the
   * framework's error path. `skip`: the call passes uncounted by all policies.
   * @default 'address', with a warning the first time
   */
  readonly missingPartition?: MissingPartition
  /** Units that a call takes: a number, a record by policy name, or a function that says so. @default 1 */
  readonly cost?: Cost<Name> | UserFunction<Args, Cost<Name>>
  /**
   * What is called, for policies that count per scope and for metrics; asked only where there are such. Keep the values
   * few: each is a bucket of its own for everybody. A function that says undefined leaves a call with the default.
   * @default the method and the route's pattern, `GET /orders/:id`
   */
  readonly scope?: string | UserFunction<Args, string | undefined>
  /** By which plan a call is judged, for a limiter with plans. It must answer within the limiter's deadline. */
  readonly plan?: string | UserFunction<Args, string>
  /** Calls for which it says true pass uncounted. @default none */
  readonly skip?: UserFunction<Args, boolean>
  /**
   * Calls from these pass uncounted: addresses and ranges, `['203.0.113.7', '2001:db8::/32']`, at most 1 000. The
   * address is the one that the framework found.
   * @default none
   */
  readonly allow?: readonly string[]
  /** Calls from these are refused as blocked, those in `allow` too; the store is not asked. @default none */
  readonly deny?: readonly string[]
  /**
   * Whether preflights of CORS are counted: `OPTIONS` with `Origin` and `Access-Control-Request-Method`. Browsers send
   * them by themselves, but anybody can, so a handler that `OPTIONS` reaches is open to uncounted calls unless this is
   * true. Only `deny` refuses those that are not counted.
   * @default false
   */
  readonly preflights?: boolean
  /**
   * Whether a call stays charged, asked when its answer is complete or its client has gone; else it is all given back.
   * Meanwhile it is charged, so that many at once are no way around the limit. `failed`: only answers of status 400 and
   * above stay charged, as for `/login`; `succeeded`: only those below. A client that goes before there is an answer
   * stays charged by either.
   * @default every call does
   */
  readonly chargeWhen?: 'failed' | 'succeeded' | AnswerFunction<Args, boolean>
  /**
   * What a call has really cost, asked when its answer is complete or its client has gone, and put in place of what it
   * was charged: `({ bytes }) => ({ traffic: bytes })`. Nothing changes for policies that it does not name, nor where it
   * gives undefined.
   */
  readonly settle?: AnswerFunction<Args, Cost<Name> | undefined>
  /**
   * Answers a call that may not pass, in place of the problem details. Status, `Retry-After` and `Cache-Control`
   * are set already, and what limiters before this one have charged is given back. What it throws goes to the
   * framework's error path.
   */
  readonly onDenied?: { call(...args: DeniedArgs): unknown }['call']
  /** Overrides the limiter's own for this adapter. */
  readonly onStoreFailure?: OnStoreFailure
  /** `false` states no limits at all; a refusal keeps its `Retry-After`. */
  readonly headers?: false | HeaderOptions
  /** Told of what looks like a mistake in how this is set up, each kind once. @default the process's warnings */
  readonly onWarning?: (message: string) => void
}

/** A limiter that is there already. */
export interface ByLimiter<
  Name extends string,
  Kind extends string,
  Counted extends string = Name,
  Plan extends string = string,
> {
  readonly limiter: Limiter<Name, Kind, Plan, Counted>
  readonly plan?: PlanOf<Plan>
  /**
   * What calls are held by, and their places made to last by: the clock that the limiter was made with, which it
   * does not tell. @default the machine's
   */
  readonly clock?: Clock
  readonly policies?: undefined
}

/** A limiter to be made from these. */
export interface ByPolicies<P extends readonly Policy[], C extends readonly Policy[] = readonly Policy[]>
  extends Omit<LimiterOptions<P, C>, 'onStoreFailure'> {
  readonly limiter?: undefined
  readonly plan?: undefined
}

/** A limiter to be made from these. */
export interface ByPlans<T extends Plans, C extends CandidatesOf<T> = CandidatesOf<T>>
  extends Omit<PlannedLimiterOptions<T, C>, 'onStoreFailure'> {
  readonly limiter?: undefined
  readonly policies?: undefined
  readonly plan?: PlanOf<keyof T & string>
}

/** One of the plans that there are, or the function that says so of each call. */
export type PlanOf<Plan extends string> = NoInfer<Plan> | object | undefined

/** Where there are plans, something must say which of them. */
export type NeedsPlan = { readonly plan: unknown } | { readonly defaultPlan: unknown }

/** Policies that count anything but `client` need to be told what; the address serves that kind alone. */
export type NeedsPartition<Kind extends string> = string extends Kind
  ? unknown
  : [Kind] extends ['client']
    ? unknown
    : { readonly partition: unknown }

/**
 * Makes what an adapter is mounted as, from its options and a limiter or what one is made of. `Args` is what it calls
 * your functions with, `DeniedArgs` what it calls `onDenied` with, before the decision; `Own` are options of its own.
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 */
export interface MakeLimit<
  Args extends readonly unknown[],
  DeniedArgs extends readonly unknown[],
  Made,
  Own = unknown,
> {
  <const P extends readonly Policy[], const C extends readonly Policy[] = readonly []>(
    options: Own &
      ByPolicies<P, C> &
      OptionsFor<Args, DeniedArgs, LiveNameOf<P>, KindOf<P> | KindOf<C>, NameOf<P> | NameOf<C>>,
  ): Made
  <const T extends Plans, const C extends CandidatesOf<T> = NoCandidates>(
    options: Own &
      ByPlans<T, C> &
      NeedsPlan &
      OptionsFor<
        Args,
        DeniedArgs,
        LiveNameOf<T[keyof T]>,
        KindOf<T[keyof T]> | KindOf<ListIn<C>>,
        NameOf<T[keyof T]> | NameOf<ListIn<C>>
      >,
  ): Made
  <Name extends string, Kind extends string, Plan extends string, Counted extends string>(
    options: Own &
      ByLimiter<Name, Kind, Counted, Plan> &
      OptionsFor<Args, DeniedArgs, NoInfer<Name>, NoInfer<Kind>, NoInfer<Counted>>,
  ): Made
}

/** The options for policies of these names that count these kinds. */
export type OptionsFor<
  Args extends readonly unknown[],
  DeniedArgs extends readonly unknown[],
  Name extends string,
  Kind extends string,
  Counted extends string = Name,
> = HttpOptions<Counted, Kind, Args, readonly [...DeniedArgs, decision: Denied<Name>]> & NeedsPartition<Kind>

/** The same with nothing known of the types. */
export type AnyHttpOptions = (ByLimiter<string, string> | ByPolicies<readonly Policy[]> | ByPlans<Plans>) &
  HttpOptions<string, string, readonly unknown[], readonly unknown[]>

const OWN = [
  'partition',
  'missingPartition',
  'cost',
  'scope',
  'plan',
  'skip',
  'allow',
  'deny',
  'preflights',
  'chargeWhen',
  'settle',
  'onDenied',
  'onStoreFailure',
  'headers',
  'onWarning',
]
/** The options that a limiter is made from; the mode is an adapter's own, for its calls. */
export const OF_LIMITER: readonly string[] = LIMITER_OPTIONS.filter((name) => name !== 'onStoreFailure')

/** Checks the options of an adapter, all but those that the limiter checks. @throws TypeError naming the option */
export function expectHttpOptions(adapter: string, options: unknown): asserts options is AnyHttpOptions {
  expectObject(`the options of ${adapter}`, options)
  const given = options as Readonly<Record<string, unknown>>
  const { limiter, policies, plans, ...rest } = given
  if ([limiter, policies, plans].filter((value) => value !== undefined).length !== 1)
    throw new TypeError(`Expected ${adapter} to be given either limiter, policies or plans`)
  if (limiter === undefined) expectOnly(`${adapter} without a limiter`, rest, [...OF_LIMITER, ...OWN])
  else {
    expectOnly(`${adapter} with a limiter`, rest, [...OWN, 'clock'])
    expectLimiter(limiter)
    if (given.clock !== undefined) expectClock(given.clock as Clock)
  }
  for (const name of ['partition', 'skip', 'onDenied', 'onWarning'])
    if (given[name] !== undefined) expectFunction(name, given[name])
  if (given.settle !== undefined) expectFunction('settle', given.settle)
  if (given.chargeWhen !== undefined && typeof given.chargeWhen !== 'function')
    expectOneOf('chargeWhen', given.chargeWhen, ['failed', 'succeeded'])
  if (given.missingPartition !== undefined)
    expectOneOf('missingPartition', given.missingPartition, ['address', 'reject', 'skip'])
  if (given.onStoreFailure !== undefined) expectOnStoreFailure(given.onStoreFailure)
  for (const name of ['scope', 'plan'])
    if (!['undefined', 'string', 'function'].includes(typeof given[name]))
      throw new TypeError(expected(name, 'a text or a function', given[name]))
  if (given.preflights !== undefined) expectOneOf('preflights', given.preflights, [true, false])
  expectHeaders(given.headers)
}

function expectLimiter(limiter: unknown): void {
  const { consume, policies } = (
    typeof limiter === 'object' && limiter !== null ? limiter : {}
  ) as Partial<Limiter>
  if (typeof consume !== 'function' || !Array.isArray(policies))
    throw new TypeError(expected('limiter', 'made by createLimiter(…)', limiter))
}

function expectHeaders(headers: unknown): void {
  if (headers === undefined || headers === false) return
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw new TypeError(expected('headers', 'false or an object', headers))
  expectOnly('headers', headers, ['draft', 'hints', 'legacy', 'partitionKey'])
  const { draft, hints = true, legacy = false, partitionKey } = headers as Readonly<Record<string, unknown>>
  if (draft !== undefined) expectOneOf('headers.draft', draft, [11, 12, 'dual'])
  expectOneOf('headers.hints', hints, [true, false])
  expectOneOf('headers.legacy', legacy, [true, false, 'x-ratelimit', 'draft-7', 'draft-6', 'draft-3'])
  // Not shown in an error: it is a secret.
  if (partitionKey !== undefined && !(typeof partitionKey === 'string' && partitionKey.length >= 16))
    throw new TypeError('Expected headers.partitionKey to be a secret of at least 16 characters')
  if (legacy === 'draft-7' && draft !== undefined)
    throw new TypeError(
      expected('headers.draft', 'left out with headers.legacy "draft-7", which takes its place', draft),
    )
}
