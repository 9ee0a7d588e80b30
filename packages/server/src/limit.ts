import { meterOf } from './algorithm/algorithms.js'
import type { Reading } from './algorithm/meter.js'
import type { Limit } from './decision.js'
import { type Draft, plain } from './plain.js'
import type { Policy } from './policy.js'

/** For how long (µs) this policy has a call held, and for how long the one that does so the longest. */
export class Held {
  readonly ownUs: number
  readonly longestUs: number

  constructor(ownUs: number, longestUs: number) {
    this.ownUs = ownUs
    this.longestUs = longestUs
  }
}

/** What one policy says of a call: what is stated, how long to wait if it refuses, how long to hold if it admits. */
export class Said<Name extends string = string> {
  readonly limit: Limit<Name>
  readonly waitUs: number
  readonly delayUs: number

  constructor(limit: Limit<Name>, waitUs: number, delayUs: number) {
    this.limit = limit
    this.waitUs = waitUs
    this.delayUs = delayUs
  }
}

/**
 * What a policy states after a decision. `t`: with none left, or when this policy refused, the wait until this cost
 * fits. While units are left: the time to the end of the window, or until more come back, and never less than the
 * time in which so many come back at the policy's rate, so that available over effective window never promises more
 * than the policy.
 */
export function limitOf<Name extends string>(
  policy: Policy<Name>,
  reading: Reading,
  cost: number,
  taken: boolean,
  nowUs: number,
  held: Held | undefined,
  instances: number,
  partitionKey: Uint8Array | undefined,
): Said<Name> {
  const meter = meterOf(policy)
  const allowed = meter.fits(reading, cost, policy)
  const {
    available,
    waitUs,
    windowUs,
    delayUs = held?.ownUs,
  } = meter.view(reading, cost, taken, nowUs, policy)
  // What is stated is read when the call is let go: times count from then.
  const goneUs = taken && held !== undefined ? held.longestUs : 0
  const limit = new OfLimit(policy, cost, available, allowed, windowUs !== undefined) as Draft<Limit<Name>>
  stateWindow(limit, policy, allowed && available > 0 ? undefined : waitUs, windowUs, goneUs)
  if (delayUs !== undefined) limit.delaySeconds = delayUs / 1e6
  // More than share a quota four times over can do nothing with their part.
  if (instances > 0) limit.instances = Math.min(instances, 4 * policy.quota)
  if (partitionKey !== undefined) limit.partitionKey = partitionKey
  return new Said(limit, allowed ? 0 : waitUs, delayUs ?? 0)
}

/** A limit, but for what few have. */
const OfLimit = plain(function Limit(
  this: Draft<Limit>,
  { name, quota, unit, windowSeconds }: Policy,
  cost: number,
  available: number,
  allowed: boolean,
  timed: boolean,
) {
  this.policy = name
  this.quota = quota
  this.unit = unit
  this.cost = cost
  this.available = available
  this.allowed = allowed
  if (windowSeconds === undefined) return
  this.windowSeconds = windowSeconds
  if (!timed) return
  this.effectiveWindowSeconds = 0
  this.effectiveWindowMs = 0
})

/** Fills in within which time what is available is so. */
function stateWindow(
  limit: Draft<Limit>,
  policy: Policy,
  waitUs: number | undefined,
  windowUs: number | undefined,
  goneUs: number,
): void {
  if (windowUs === undefined || policy.windowSeconds === undefined) return
  // Time gives a fixed window's units back at once; of all others it gives them back at the rate of the policy.
  const atOnce = policy.algorithm === 'fixed-window' || waitUs !== undefined
  const us = atOnce ? Math.max(1, (waitUs ?? windowUs) - goneUs) : windowUs
  const paced = atOnce ? 0 : Math.ceil((limit.available * policy.windowSeconds) / policy.quota)
  const seconds = Math.max(1, paced, isBucket(policy) && waitUs === undefined ? 0 : Math.ceil(us / 1e6))
  limit.effectiveWindowSeconds = seconds
  limit.effectiveWindowMs = Math.min(Math.ceil(us / 1000), seconds * 1000)
}

function isBucket({ algorithm }: Policy): boolean {
  return algorithm === 'token-bucket' || algorithm === 'leaky-bucket'
}
