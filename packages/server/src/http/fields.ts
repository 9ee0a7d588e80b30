import {
  type Draft,
  formatRateLimitPolicy,
  partitionKeyParameter,
  policyPrefix,
  type QuotaPolicy,
} from '@ratepact/contract'
import type { Limit } from '../decision.js'
import type { Policy } from '../policy.js'

/** A field of an answer. */
export type Field = readonly [name: string, value: string]

/** What the two fields say. A class, since there is one for each answer: see `listOf`. */
export class Stated {
  /** Of `RateLimit-Policy`. */
  readonly policies: string
  /** Of `RateLimit`. */
  readonly limits: string

  constructor(policies: string, limits: string) {
    this.policies = policies
    this.limits = limits
  }
}

/** States what a decision says of each policy, in the order of configuration; undefined where that is nothing. */
export type FieldWriter = (limits: readonly Limit[]) => Stated | undefined

/** The texts of a policy that are the same on every answer. */
interface Texts {
  /** `"burst"` */
  readonly name: string
  /** `"burst";q=100;w=50` */
  readonly policy: string
  /** `;ratepact-refill="bucket"` */
  readonly hints: string
}

/** The largest Integer of a structured field (RFC 9651 section 3.3.1). */
const LARGEST = 999_999_999_999_999

/**
 * Writes `RateLimit-Policy` and `RateLimit`. Names and policies are serialised here, once; an answer costs a few
 * joined texts. A limit that has no sound number in it (a store of the user's may say anything) is not stated.
 */
export function createFieldWriter(policies: readonly Policy[], draft: Draft, hints: boolean): FieldWriter {
  const textsOf = new Map(policies.map((policy) => [policy.name as string, constantTexts(policy, hints)]))
  const keyOf = createKeyTexts()
  // Without a partition key on any of them the whole list is one constant.
  const constant = [...textsOf.values()].map(({ policy, hints }) => policy + hints).join(', ')

  return (limits) => {
    let rules = ''
    let states = ''
    let keyed = limits.length < policies.length
    for (const limit of limits) {
      const texts = textsOf.get(limit.policy)
      if (texts === undefined || !isWhole(limit.available)) {
        keyed = true
        continue
      }
      const key = limit.partitionKey === undefined ? '' : keyOf(limit.partitionKey)
      if (key !== '') keyed = true
      const between = states === '' ? '' : ', '
      rules += between + texts.policy + key + texts.hints
      states += between + texts.name + stateOf(limit, draft) + key + (hints ? hintsOf(limit) : '')
    }
    return states === '' ? undefined : new Stated(keyed ? rules : constant, states)
  }
}

function constantTexts(policy: Policy, hints: boolean): Texts {
  const stated: QuotaPolicy = { policy: policy.name, quota: policy.quota, unit: policy.unit }
  if (policy.windowSeconds !== undefined) stated.windowSeconds = policy.windowSeconds
  const text = formatRateLimitPolicy([stated])
  const hinted: QuotaPolicy = { ...stated }
  const rate = exactRate(policy)
  if (policy.refill !== undefined) hinted.refill = policy.refill
  if (rate !== undefined) hinted.ratePerSecond = rate
  return {
    name: policyPrefix(policy.name),
    policy: text,
    hints: hints ? formatRateLimitPolicy([hinted]).slice(text.length) : '',
  }
}

/** The rate, where `q` over `w` says it less well than the three decimals that a field has. */
function exactRate({ quota, ratePerSecond, windowSeconds }: Policy): number | undefined {
  if (ratePerSecond === undefined || windowSeconds === undefined || ratePerSecond < 0.001) return undefined
  if (Math.abs(quota / ratePerSecond - windowSeconds) < 1e-9) return undefined
  const stated = Math.floor(ratePerSecond * 1000 + 1e-6) / 1000
  const byStated = Math.abs(ratePerSecond - stated)
  return byStated < Math.abs(ratePerSecond - quota / windowSeconds) ? ratePerSecond : undefined
}

/** The numbers, in the names of draft 11, of draft 12 (with the cost), or of both. */
function stateOf(limit: Limit, draft: Draft): string {
  const { available, cost, effectiveWindowSeconds: window } = limit
  const timed = isWhole(window)
  let text = ''
  if (draft !== 12) text += timed ? `;r=${available};t=${window}` : `;r=${available}`
  if (draft !== 11) text += `;a=${available}${timed ? `;w=${window}` : ''};c=${cost}`
  return text
}

/** What is not the same on every answer: the milliseconds, and how many client processes share the units. */
function hintsOf({ effectiveWindowSeconds, effectiveWindowMs, instances }: Limit): string {
  const timed = isWhole(effectiveWindowSeconds) && isWhole(effectiveWindowMs)
  const text = timed ? `;ratepact-t-ms=${effectiveWindowMs}` : ''
  return isWhole(instances) && instances > 0 ? `${text};ratepact-n=${instances}` : text
}

/** A limiter hands out one array per scope, so each is written once; the text goes when the array does. */
function createKeyTexts(): (key: Uint8Array) => string {
  const texts = new WeakMap<Uint8Array, string>()
  return (key) => {
    let text = texts.get(key)
    if (text === undefined) {
      text = partitionKeyParameter(key)
      texts.set(key, text)
    }
    return text
  }
}

/** Whether a number may stand in a field. */
export function isWhole(value: number | undefined): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LARGEST
}
