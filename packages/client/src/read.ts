import {
  type Dialect,
  type FieldResult,
  parseRetryAfter,
  parseRetryAfterMs,
  type QuotaPolicy,
  readRateLimitFields,
  type ServiceLimit,
} from '@ratepact/contract'
import type { Address } from './address.js'
import type { DialectOptions } from './dialect.js'

/** What an answer says about limits. */
export interface Reading {
  /** Whether it tells of the origin that was called, and not of one that a redirect led to. */
  readonly own: boolean
  readonly limits: readonly ServiceLimit[]
  readonly policies: readonly QuotaPolicy[]
  /** How long the answer, if it is a refusal, asks to be left alone, counted from its arrival. */
  readonly hintMs: number | undefined
  /** Whether it states nothing, though it might: a success of the origin's own. */
  readonly silent: boolean
  /** Whether the dialect takes it for a refusal, whatever its status. */
  readonly limited?: boolean | undefined
  /** Fields that were malformed, for people who look for the reason. */
  readonly ignored: readonly { readonly field: string; readonly reason: string }[]
}

/** More members than any server states; what comes in such numbers is garbage, and is not kept. */
const mostMembers = 100

const silence: Reading = {
  ...{ own: true, limits: [], policies: [], ignored: [], hintMs: undefined, silent: true },
}

/** The fields that state the limits and the policies, in dialects that use others than `RateLimit`. */
const otherFields: Readonly<Partial<Record<Dialect, { limits: string; policies: string }>>> = {
  'draft-6': { limits: 'RateLimit-Remaining', policies: 'RateLimit-Policy' },
  'draft-3': { limits: 'RateLimit-Remaining', policies: 'RateLimit-Limit' },
  'x-ratelimit': { limits: 'X-RateLimit-Remaining', policies: 'X-RateLimit-Limit' },
}

/**
 * Reads an answer by the contract, in whichever dialect it speaks. The limits in an answer out of a cache are those of the past
 * (draft-11 section 7.3), while its `Retry-After` is obeyed whole; a redirect or an opaque answer tells of nothing. One from another origin tells of another quota: how long to
 * stay away holds for this call, but nothing is learnt from it.
 *
 * @param refused it is taken for a refusal, whatever its status
 */
export function readAnswer(
  response: Response,
  place: Place,
  dialect: DialectOptions,
  refused: boolean,
): Reading {
  const { headers, status } = response
  const { address } = place.target
  const own = isFrom(response, address)
  const nothing = { own, limits: [], policies: [], ignored: [], hintMs: undefined, silent: false }
  if (status < 200 || (status >= 300 && status < 400)) return nothing
  const ignored: { field: string; reason: string }[] = []
  const said = own
    ? dialect.read?.({ status, headers, host: address.location.host, route: place.route })
    : undefined
  const read = own && said?.limits === undefined ? readLimits(headers, dialect, ignored) : said
  const { limits = [], policies = [] } = read ?? {}
  const limited = said?.limited
  const failed = refused || limited === true || status >= 400
  // A field less to look for on each answer that says nothing anyway.
  if (!failed && limits.length + policies.length + ignored.length === 0) return own ? silence : nothing
  const toldMs = failed ? readRetryAfterMs(headers, limits) : undefined
  if (isCached(headers)) return { ...nothing, hintMs: toldMs }
  const hintMs = failed ? (toldMs ?? said?.waitMs ?? windowMs(limits, policies)) : undefined
  return { own, limits, policies, ignored, limited, hintMs, silent: false }
}

/** Where a call went. */
export interface Place {
  readonly target: { readonly address: Address }
  readonly route: string
}

function isFrom({ redirected, url }: Response, { origin }: Address): boolean {
  return !redirected || url === '' || new URL(url).origin === origin
}

/** A positive age means that a cache answered. No number, no age. */
function isCached(headers: Headers): boolean {
  const age = headers.get('age')
  return age !== null && /^\d+$/.test(age.trim()) && Number(age) > 0
}

function readLimits(
  headers: Headers,
  { xRateLimitReset }: DialectOptions,
  ignored: { field: string; reason: string }[],
): Pick<Reading, 'limits' | 'policies'> {
  const said = readRateLimitFields((name) => headers.get(name), {
    xRateLimitReset: xRateLimitReset ?? 'by-size',
  })
  const fields = said.dialect === undefined ? undefined : otherFields[said.dialect]
  return {
    limits: take(fields?.limits ?? 'RateLimit', said.limits, ignored),
    policies: take(fields?.policies ?? 'RateLimit-Policy', said.policies, ignored),
  }
}

function take<T>(
  field: string,
  result: FieldResult<T>,
  ignored: { field: string; reason: string }[],
): readonly T[] {
  if (result.status === 'ignored') ignored.push({ field, reason: result.reason })
  if (result.status !== 'ok') return []
  for (const { index, reason } of result.dropped) ignored.push({ field, reason: `item ${index}: ${reason}` })
  if (result.items.length <= mostMembers) return result.items
  ignored.push({ field, reason: `Expected at most ${mostMembers} items, got ${result.items.length}` })
  return []
}

/**
 * `Retry-After` comes first (draft-11 section 7). A server that also states milliseconds in both of our
 * hints means the same instant more exactly. Without it the exhausted limits say when they give more.
 */
function readRetryAfterMs(headers: Headers, limits: readonly ServiceLimit[]): number | undefined {
  const told = headers.get('retry-after')
  // No number in the standard has a fraction (the reader of milliseconds knows those), but whoever sends one means a wait.
  const seconds = parseRetryAfter(told, dateOf(headers)) ?? ceil(parseRetryAfterMs(told))
  if (seconds === undefined) return undefined
  const exactMs = parseRetryAfterMs(headers.get('retry-after-ms'))
  const hinted = limits.some((limit) => limit.effectiveWindowMs !== undefined)
  return hinted && exactMs !== undefined && exactMs <= seconds * 1000 ? exactMs : seconds * 1000
}

function ceil(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.ceil(seconds)
}

function dateOf(headers: Headers): { date?: string } {
  const date = headers.get('date')
  return date === null ? {} : { date }
}

/** The longest time after which an exhausted limit gives more; its whole window where no time is stated. */
function windowMs(limits: readonly ServiceLimit[], policies: readonly QuotaPolicy[]): number | undefined {
  const waits = limits.filter((limit) => limit.available === 0).map((limit) => untilMoreMs(limit, policies))
  const known = waits.filter((wait) => wait !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

function untilMoreMs(limit: ServiceLimit, policies: readonly QuotaPolicy[]): number | undefined {
  if (limit.effectiveWindowMs !== undefined) return limit.effectiveWindowMs
  const stated = limit.effectiveWindowSeconds
  const policy = policies.find((each) => each.policy === limit.policy)
  const window = policy?.unit === 'requests' ? policy.windowSeconds : undefined
  const seconds = stated === undefined || stated === 0 ? window : stated
  return seconds === undefined ? undefined : seconds * 1000
}
