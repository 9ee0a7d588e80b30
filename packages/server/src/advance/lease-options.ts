import type { FixedWindowPolicy } from '../algorithm/fixed-window.js'
import type { TokenBucketPolicy } from '../algorithm/token-bucket.js'
import { expected, expectInteger, expectObject, expectOnly } from '../expect.js'
import type { OnStoreFailure } from '../failure/mode.js'
import type { Rules } from '../plans.js'
import type { Policy } from '../policy.js'
import type { Store } from '../store.js'

/** How this process takes units ahead of the calls that will use them, to answer those without asking the store. */
export interface LeaseOptions {
  /**
   * The most units of one bucket that this process holds ahead. Within it, it holds what a partition uses in one lease.
   * @default a tenth of the quota
   */
  readonly units?: number
  /**
   * How long units are held, in seconds, before the lease is renewed or they are given back: from 0.05 to 60. Shorter
   * where a bucket fills up, or a window ends, within ten times as long. @default 2
   */
  readonly seconds?: number
  /** More units are taken once fewer are left than this share of what is to be held: from 0 to 1. @default 0.5 */
  readonly refillBelow?: number
  /** The most buckets of which this process holds units. @default 1000 */
  readonly maxPartitions?: number
}

/** Lease options, checked, with their defaults. */
export interface LeaseSettings {
  readonly units: number | undefined
  readonly lifeMs: number
  readonly refillBelow: number
  readonly maxPartitions: number
}

/** The policies of which units can be taken ahead. */
export type LeasablePolicy = TokenBucketPolicy | FixedWindowPolicy

/** Ten leases fit into the time in which a bucket fills up, or into a window. */
const LEASES_IN_WINDOW = 10
const SHORTEST_MS = 50

/** @throws TypeError or RangeError naming the option, the value and the rule */
export function leasesFrom(options: unknown): LeaseSettings | undefined {
  if (options === undefined) return undefined
  expectObject('leases', options)
  expectOnly('leases', options, ['units', 'seconds', 'refillBelow', 'maxPartitions'])
  const { units, seconds = 2, refillBelow = 0.5, maxPartitions = 1000 }: LeaseOptions = options
  if (units !== undefined) expectInteger('leases.units', units, 1, 1e12)
  if (!(typeof seconds === 'number' && seconds >= SHORTEST_MS / 1000 && seconds <= 60))
    throw new RangeError(expected('leases.seconds', 'a number of seconds from 0.05 to 60', seconds))
  if (!(typeof refillBelow === 'number' && refillBelow >= 0 && refillBelow <= 1))
    throw new RangeError(expected('leases.refillBelow', 'a number from 0 to 1', refillBelow))
  expectInteger('leases.maxPartitions', maxPartitions, 1, 1_000_000)
  return { units, lifeMs: seconds * 1000, refillBelow, maxPartitions }
}

/** How long units of a policy are held. */
export function lifeOf(policy: LeasablePolicy, { lifeMs }: LeaseSettings): number {
  return Math.min(lifeMs, spanOf(policy) / LEASES_IN_WINDOW)
}

/** The most units of a policy that are held. */
export function mostOf({ quota }: LeasablePolicy, { units }: LeaseSettings): number {
  return units ?? Math.floor(quota / 10)
}

function spanOf(policy: LeasablePolicy): number {
  return policy.algorithm === 'fixed-window'
    ? policy.windowUs / 1000
    : (policy.quota / policy.ratePerSecond) * 1000
}

/** @throws TypeError where a limiter with leases is to count by itself when its store is gone */
export function expectNoLocal(mode: OnStoreFailure): void {
  if (typeof mode === 'object')
    throw new TypeError(
      "leases and onStoreFailure { local } exclude each other: a process's share would come on top of what it holds",
    )
}

/** @throws TypeError or RangeError naming what leases do not go with */
export function expectLeasable(
  { live, tried }: Pick<Rules, 'live' | 'tried'>,
  store: Store,
  { units }: LeaseSettings,
  others: {
    readonly blocks: boolean
    readonly hold: boolean
    readonly countInstances: boolean
    readonly onStoreFailure: OnStoreFailure
  },
): void {
  if (store.advances !== true)
    throw new TypeError(`leases need a store that can give units ahead; the store "${store.name}" cannot`)
  if (others.blocks)
    throw new TypeError('leases and blocks exclude each other: who holds units would not see a block')
  if (others.hold)
    throw new TypeError('leases and hold exclude each other: units given back early would pass a held call')
  if (others.countInstances)
    throw new TypeError('leases and countInstances exclude each other: the store would not see who calls')
  expectNoLocal(others.onStoreFailure)
  if (tried.length > 0)
    throw new TypeError('leases exclude shadows and candidates: they are to be asked about every call')
  for (const policy of live) {
    if (!isLeasable(policy))
      throw new TypeError(
        `leases need every policy to be a token bucket or a fixed window; policy "${policy.name}" is ${policy.algorithm}`,
      )
    if (units !== undefined && units > policy.quota)
      throw new RangeError(
        expected('leases.units', `at most the quota of policy "${policy.name}", ${policy.quota}`, units),
      )
    const least = (SHORTEST_MS * LEASES_IN_WINDOW) / 1000
    if (spanOf(policy) < least * 1000)
      throw new RangeError(
        `leases need policy "${policy.name}" to fill up, or its window to last, ${least} s or longer, got ${spanOf(policy) / 1000}`,
      )
  }
}

export function isLeasable(policy: Policy): policy is LeasablePolicy {
  return policy.algorithm === 'token-bucket' || policy.algorithm === 'fixed-window'
}
