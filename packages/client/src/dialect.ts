import type { QuotaPolicy, ResetMeaning, ServiceLimit } from '@ratepact/contract'
import { checkFunction, checkList, checkMembers, checkOneOf, checkText, expected } from './check.js'

/** What is shown of an answer to whoever reads limits that no standard defines. */
export interface AnswerHead {
  readonly status: number
  readonly headers: { get(name: string): string | null; keys?(): Iterable<string> }
  /** The host that was called, with its port unless that is the usual one. */
  readonly host: string
  readonly route: string
}

/** What was read, in the standard's terms. */
export interface DialectReading {
  /** Undefined where the answer is to be read for limits as any other. */
  readonly limits?: readonly ServiceLimit[] | undefined
  readonly policies?: readonly QuotaPolicy[] | undefined
  /** How long a refusal asks to be left alone, where a field other than `Retry-After` says it. */
  readonly waitMs?: number | undefined
  /** Whether the answer is a refusal although its status does not say so. */
  readonly limited?: boolean | undefined
}

/**
 * What a service means by fields that no standard defines. Limits by the standard's drafts, and `X-RateLimit-Limit`, `-Remaining`
 * and `-Reset`, are told by their shape and size and need none of this.
 */
export interface DialectOptions {
  /**
   * What `X-RateLimit-Reset` counts, where its size does not tell.
   * @default what fits its size: a date, milliseconds or seconds since 1970, or else seconds from now
   */
  readonly xRateLimitReset?: ResetMeaning | undefined
  /**
   * Reads other fields, before all others are read; undefined = there are none of those. `dialects()` of
   * `@ratepact/client/dialects` makes it for the APIs that are known.
   * @default none
   */
  readonly read?: ((answer: AnswerHead) => DialectReading | undefined) | undefined
}

const meanings = ['epoch-seconds', 'epoch-milliseconds', 'delta-seconds', 'http-date'] as const

/** @throws TypeError that names the option, the rule and what was given. */
export function readDialect(dialect: DialectOptions | undefined): DialectOptions {
  if (dialect === undefined) return {}
  checkMembers('dialect', dialect, ['xRateLimitReset', 'read'])
  const { xRateLimitReset: meaning, read } = dialect
  if (read !== undefined) checkFunction('dialect.read', read)
  checkOneOf('dialect.xRateLimitReset', meaning, meanings)
  return { xRateLimitReset: meaning, read: read && ((answer) => checkReading(read(answer))) }
}

/** The caller's own function may return anything. */
function checkReading(said: DialectReading | undefined | null): DialectReading | undefined {
  if (said === undefined || said === null) return undefined
  if (typeof said !== 'object' || said instanceof Promise)
    throw new TypeError(expected('the result of dialect.read', 'an object', said))
  const { limits, policies, waitMs } = said
  if (limits !== undefined) checkList('the limits of dialect.read', limits, checkLimit)
  if (policies !== undefined) checkList('the policies of dialect.read', policies, checkNamed)
  if (waitMs !== undefined) checkNumeric('the waitMs of dialect.read', waitMs)
  return said
}

function checkLimit(name: string, limit: unknown): void {
  checkNamed(name, limit)
  checkNumeric(`${name}.available`, (limit as ServiceLimit).available)
}

/** Whatever number: what a server states is no fault of the function that reads it. */
function checkNumeric(name: string, value: unknown): void {
  if (typeof value !== 'number') throw new TypeError(expected(name, 'a number', value))
}

function checkNamed(name: string, stated: unknown): void {
  if (typeof stated !== 'object' || stated === null) throw new TypeError(expected(name, 'an object', stated))
  checkText(`${name}.policy`, (stated as ServiceLimit).policy)
}
