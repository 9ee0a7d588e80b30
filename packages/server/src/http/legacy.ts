import { formatLegacyFields, type LegacyDialect } from '@ratepact/contract'
import type { Limit } from '../decision.js'
import type { Policy } from '../policy.js'
import { type Field, isWhole } from './fields.js'

/**
 * States one limit in a dialect that has no names.
 * @param atMs when the limiter was asked, in milliseconds since 1970
 */
export type LegacyWriter = (limits: readonly Limit[], atMs: number) => readonly Field[]

/** What of a policy is the same on every answer that tells of it. */
interface Texts {
  /** `10` */
  readonly quota: string
  /** `10;w=2, 1000;w=86400`: all policies, as they are stated where this one is the limit. */
  readonly policies: string
}

/** A limit that can be told of: it has a time, and counts requests. */
interface Said {
  readonly texts: Texts
  readonly limit: Limit
  readonly windowSeconds: number
}

/**
 * From one second more readers take a delay for a timestamp. As timestamps such delays stay within the fifteen digits
 * of a field, too.
 */
const LONGEST_SECONDS = 999_999_999

/**
 * The fields of one limit, the nearest to exhaustion. Policies without a window, and those that count anything but
 * requests, cannot be told of in these dialects (draft-06 section 3): without another there are no fields at all.
 */
export function createLegacyWriter(policies: readonly Policy[], dialect: LegacyDialect): LegacyWriter {
  const textsOf = constantTexts(policies)
  const write = WRITERS[dialect]
  return (limits, atMs) => {
    const said = nearest(limits, textsOf)
    return said === undefined ? [] : write(said, atMs)
  }
}

const WRITERS: Readonly<Record<LegacyDialect, (said: Said, atMs: number) => readonly Field[]>> = {
  'draft-3': (said) =>
    threeFields('', said, `${said.texts.quota}, ${said.texts.policies}`, said.windowSeconds),
  // Its RateLimit-Policy is left out: the name is taken by the policies with names, which are told besides.
  'draft-6': (said) => threeFields('', said, said.texts.quota, said.windowSeconds),
  'draft-7': ({ texts, limit, windowSeconds }) => [
    ['RateLimit-Policy', texts.policies],
    ['RateLimit', `limit=${texts.quota}, remaining=${limit.available}, reset=${windowSeconds}`],
  ],
  'x-ratelimit': (said, atMs) => threeFields('X-', said, said.texts.quota, epochSeconds(said, atMs)),
}

function threeFields(prefix: string, { limit }: Said, quota: string, reset: number): readonly Field[] {
  return [
    [`${prefix}RateLimit-Limit`, quota],
    [`${prefix}RateLimit-Remaining`, String(limit.available)],
    [`${prefix}RateLimit-Reset`, String(reset)],
  ]
}

/**
 * The window counts from within the trip to the store, `atMs` is before it, and the milliseconds are rounded up. So
 * the end of a window that ends with a whole second is always that second, and never now and then the next one.
 */
function epochSeconds({ limit, windowSeconds }: Said, atMs: number): number {
  const { effectiveWindowMs } = limit
  const exactMs = isWhole(effectiveWindowMs) ? effectiveWindowMs - 1 : Number.POSITIVE_INFINITY
  return Math.ceil((atMs + Math.max(0, Math.min(exactMs, windowSeconds * 1000))) / 1000)
}

/** Written by the contract, once; by name, for those policies that can be told of. */
function constantTexts(policies: readonly Policy[]): ReadonlyMap<string, Texts> {
  const stated = policies.map(({ name, quota, unit, windowSeconds }) => ({
    policy: name as string,
    quota,
    unit,
    ...(windowSeconds === undefined ? undefined : { windowSeconds }),
  }))
  const texts = new Map<string, Texts>()
  for (const { policy, quota, windowSeconds } of stated) {
    if (windowSeconds === undefined) continue
    const limit = { policy, available: 0, effectiveWindowSeconds: 0 }
    const { 'RateLimit-Policy': all } = formatLegacyFields('draft-7', [limit], stated)
    if (all !== undefined) texts.set(policy, { quota: String(quota), policies: all })
  }
  return texts
}

function nearest(limits: readonly Limit[], textsOf: ReadonlyMap<string, Texts>): Said | undefined {
  let nearest: Said | undefined
  for (const limit of limits) {
    const texts = textsOf.get(limit.policy)
    const { available, effectiveWindowSeconds: seconds } = limit
    if (texts === undefined || !isWhole(available) || !isWhole(seconds)) continue
    const said = { texts, limit, windowSeconds: Math.min(seconds, LONGEST_SECONDS) }
    if (nearest === undefined || isNearer(said, nearest)) nearest = said
  }
  return nearest
}

/** A policy that has refused is exhausted for this call, whatever it has left for cheaper ones. */
function isNearer({ limit, windowSeconds }: Said, other: Said): boolean {
  if (limit.allowed !== other.limit.allowed) return !limit.allowed
  if (limit.available !== other.limit.available) return limit.available < other.limit.available
  return windowSeconds > other.windowSeconds
}
