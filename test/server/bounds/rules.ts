import {
  concurrency,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import fc from 'fast-check'
import type { Rule } from './definitions.js'

/** A rule, and who shares its quota. */
export interface Counted {
  readonly rule: Rule
  readonly by: 'client' | 'account'
}

/** The policy that is to keep a rule. */
export function policyOf({ rule, by }: Counted, name: string): Policy {
  switch (rule.kind) {
    case 'bucket':
      return tokenBucket({ name, by, capacity: rule.quota, refillPerSecond: (rule.units * 1e6) / rule.us })
    case 'queue':
      return leakyBucket({
        name,
        by,
        capacity: rule.quota,
        leakPerSecond: (rule.units * 1e6) / rule.us,
        ...(rule.longestUs < Number.POSITIVE_INFINITY && { maxDelaySeconds: rule.longestUs / 1e6 }),
      })
    case 'places':
      return concurrency({ name, by, limit: rule.quota, leaseSeconds: rule.leaseUs / 1e6 })
    default:
      return windowOf(rule, { name, by, quota: rule.quota, windowSeconds: rule.windowUs / 1e6 })
  }
}

function windowOf(
  { kind }: Rule,
  options: {
    readonly name: string
    readonly by: 'client' | 'account'
    readonly quota: number
    readonly windowSeconds: number
  },
): Policy {
  if (kind === 'log') return slidingWindowLog(options)
  if (kind === 'counter') return slidingWindowCounter(options)
  return fixedWindow({ ...options, anchor: kind === 'calendar' ? 'epoch' : 'first-request' })
}

/** How long a unit, a window or a lease of the rule lasts. */
export function spanOf(rule: Rule): number {
  if ('windowUs' in rule) return rule.windowUs
  return 'leaseUs' in rule ? rule.leaseUs : rule.us / rule.units
}

/** Numbers to choose from. Ratios of `units` to `us` are such that a rate is met exactly. */
export interface Scale {
  readonly us: readonly number[]
  readonly spans: readonly number[]
}

/** From a unit in 1 µs to a window of some seconds. */
export const short: Scale = {
  us: [7, 1000, 70_000, 1_000_000],
  spans: [100_000, 250_001, 1_000_000, 7_000_000],
}
/** Spans about as long as calls can be held. */
export const seconds: Scale = { us: [1e6, 10e6], spans: [1e6, 7e6, 20e6] }
/** What is kept under a key of Redis outlives every test. */
export const long: Scale = { us: [100e6, 300e6], spans: [600e6, 1000.001e6, 3600e6, 7000e6] }

/** About as long as so many units take, in whole units of what a number of seconds can say exactly. */
function longest(depth: number, { units, us }: { readonly units: number; readonly us: number }): number {
  const step = us >= 1e6 ? 1e6 : us
  return depth * Math.max(step, Math.floor(us / units / step) * step)
}

export type Kind = Rule['kind']

export function rules(kind: Kind, scale: Scale): fc.Arbitrary<Rule> {
  const quota = fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 5 }), fc.integer({ min: 2, max: 12 }))
  const span = fc.constantFrom(...scale.spans)
  if (kind === 'places') return fc.record({ kind: fc.constant(kind), quota, leaseUs: span })
  if (kind === 'bucket' || kind === 'queue')
    return fc
      .record({
        quota,
        units: fc.constantFrom(1, 2, 3, 7),
        us: fc.constantFrom(...scale.us),
        depth: fc.nat(6),
      })
      .map(({ depth, ...numbers }) => ({
        kind,
        ...numbers,
        longestUs: kind === 'queue' && depth > 0 ? longest(depth, numbers) : Number.POSITIVE_INFINITY,
      }))
  return fc.record({ kind: fc.constant(kind), quota, windowUs: span })
}
