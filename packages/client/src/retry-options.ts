import {
  aBoolean,
  aFunction,
  aNumber,
  aWhole,
  checkMembers,
  expected,
  listOf,
  oneOf,
  optional,
} from './check.js'
import type { OutgoingRequest } from './target.js'

/** What a caller's own look at an answer comes to; undefined = no opinion. */
export type Verdict = 'limited' | 'ok' | undefined

/** With what a condition that does not hold comes to: `condition && 'limited'`. */
type Opinion = Verdict | false | '' | null

/** Which calls are sent again. */
export interface RetryOptions {
  /**
   * Statuses after which a call is sent again. 429 says that nothing was done, so it holds for every method, and so
   * does a 503 with a `Retry-After`, if it is listed.
   * @default [429]
   */
  readonly statuses?: readonly number[] | undefined
  /**
   * Methods sent again where it is not known whether something was done; others only with an `Idempotency-Key`.
   * @default ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'], those which may be repeated
   */
  readonly methods?: readonly string[] | undefined
  /** Whether a call that got no answer (connection lost, `attemptTimeoutSeconds` over) is sent again. @default false */
  readonly networkErrors?: boolean | undefined
  /**
   * Gives each call whose method may not be repeated an `Idempotency-Key`, the same at each attempt: `true` one of its
   * own (in a page only towards the page's own origin), a function whatever it returns.
   * @default false
   */
  readonly idempotencyKey?: boolean | ((request: OutgoingRequest) => string | undefined) | undefined
  /**
   * Looks at an answer before all rules: `limited` = it was refused because of a limit, whatever its status; `ok` = it
   * was not; nothing, `false` or `''` = no opinion. `peek` reads the beginning of the body (64 kB, one second at most) and leaves the body whole.
   */
  readonly classify?:
    | ((response: Response, peek: () => Promise<string>) => Opinion | Promise<Opinion>)
    | undefined
  /**
   * How many retries a partition may make for each call it sends, where no limit paces them; one each second comes on
   * top.
   * @default 0.2
   */
  readonly budget?: number | undefined
}

/** The same once checked. */
export interface RetrySettings {
  readonly statuses: ReadonlySet<number>
  readonly methods: ReadonlySet<string>
  readonly networkErrors: boolean
  readonly idempotencyKey: boolean | ((request: OutgoingRequest) => string | undefined)
  readonly classify: RetryOptions['classify']
  readonly budget: number
}

/** @throws TypeError or RangeError that names the option, the rule and what was given. */
export function readRetry(name: string, retry: unknown = {}): RetrySettings {
  const checked = checkMembers(name, retry, {
    statuses: optional(listOf(aWhole(400, 599)), [429]),
    methods: optional(listOf(aMethod), ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']),
    networkErrors: optional(aBoolean, false),
    idempotencyKey: optional<RetrySettings['idempotencyKey']>(
      (name, value) => (typeof value === 'boolean' ? value : aFunction(name, value)),
      false,
    ),
    classify: optional<RetryOptions['classify']>(aFunction),
    budget: optional(aNumber(0, 1000), 0.2),
  })
  return { ...checked, statuses: new Set(checked.statuses), methods: new Set(checked.methods) }
}

/** What `condition && 'limited'` comes to where the condition does not hold is no opinion either. */
export function readVerdict(verdict: unknown): Verdict {
  if (verdict === undefined || verdict === null || verdict === false || verdict === '') return undefined
  return oneOf('limited' as const, 'ok' as const)('retry.classify()', verdict)
}

function aMethod(name: string, method: unknown): string {
  if (typeof method === 'string' && /^[A-Za-z-]+$/.test(method)) return method.toUpperCase()
  throw new TypeError(expected(name, 'the name of a method', method))
}
