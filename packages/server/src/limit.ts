import { meterOf } from './algorithm/algorithms.js'
import type { Reading } from './algorithm/meter.js'
import type { Limit } from './decision.js'
import type { Policy } from './policy.js'

/** What one policy says of a call: what is stated, how long to wait if it refuses, how long to hold if it admits. */
export interface Said<Name extends string = string> {
  readonly limit: Limit<Name>
  readonly waitUs: number
  readonly delayUs: number
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
  partitionKey: Uint8Array | undefined,
): Said<Name> {
  const meter = meterOf(policy)
  const allowed = meter.fits(reading, cost, policy)
  const { available, waitUs, windowUs, delayUs } = meter.view(reading, cost, taken, nowUs, policy)
  const limit: Limit<Name> = {
    policy: policy.name,
    quota: policy.quota,
    ...(policy.windowSeconds === undefined ? undefined : { windowSeconds: policy.windowSeconds }),
    unit: policy.unit,
    cost,
    available,
    ...effectiveWindow(policy, available, allowed && available > 0 ? undefined : waitUs, windowUs),
    ...(delayUs === undefined ? undefined : { delaySeconds: delayUs / 1e6 }),
    ...(partitionKey === undefined ? undefined : { partitionKey }),
    allowed,
  }
  return { limit, waitUs: allowed ? 0 : waitUs, delayUs: delayUs ?? 0 }
}

function effectiveWindow(
  policy: Policy,
  available: number,
  waitUs: number | undefined,
  windowUs: number | undefined,
): Pick<Limit, 'effectiveWindowSeconds' | 'effectiveWindowMs'> | undefined {
  if (windowUs === undefined || policy.windowSeconds === undefined) return undefined
  const us = waitUs ?? windowUs
  // Time gives a fixed window's units back at once; of all others it gives them back at the rate of the policy.
  const atRate = policy.algorithm === 'fixed-window' || waitUs !== undefined
  const paced = atRate ? 0 : Math.ceil((available * policy.windowSeconds) / policy.quota)
  const seconds = Math.max(1, paced, isBucket(policy) && waitUs === undefined ? 0 : Math.ceil(us / 1e6))
  return {
    effectiveWindowSeconds: seconds,
    effectiveWindowMs: Math.min(Math.ceil(us / 1000), seconds * 1000),
  }
}

function isBucket({ algorithm }: Policy): boolean {
  return algorithm === 'token-bucket' || algorithm === 'leaky-bucket'
}
