import type { QuotaPolicy, ResetMeaning, ServiceLimit } from '@ratepact/contract'
import { aFunction, aString, checkMembers, checkShape, listOf, oneOf, optional, someNumber } from './check.js'

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

/** @throws TypeError that names the option, the rule and what was given. */
export function readDialect(name: string, dialect: unknown): DialectOptions {
  const { xRateLimitReset, read } = checkMembers<DialectOptions>(name, dialect, {
    xRateLimitReset: optional(oneOf('epoch-seconds', 'epoch-milliseconds', 'delta-seconds', 'http-date')),
    read: optional<DialectOptions['read']>(aFunction),
  })
  return { xRateLimitReset, read: read && ((answer) => checkReading(read(answer))) }
}

const named = { policy: aString }
const limit = { ...named, available: someNumber }
const reading = {
  limits: optional(listOf((name, each) => checkShape(name, each, limit))),
  policies: optional(listOf((name, each) => checkShape(name, each, named))),
  waitMs: optional(someNumber),
}

/** The caller's own function may return anything. */
function checkReading(said: DialectReading | undefined | null): DialectReading | undefined {
  if (said === undefined || said === null) return undefined
  checkShape('dialect.read()', said, reading)
  return said
}
