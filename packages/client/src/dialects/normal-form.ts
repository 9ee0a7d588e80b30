import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import type { Stated } from './dialect.js'

/** Windows that people choose; what is computed from rounded numbers is taken for the one next to it. */
const usualMs = [1, 10, 60, 3600, 86_400].map((seconds) => seconds * 1000)

/** What the standard's fields would have said of a limit. */
export function normalForm(
  stated: Stated,
  route: string | undefined,
): { limit?: ServiceLimit; policy?: QuotaPolicy } {
  const { name, key = route, unit = 'requests', quota, left, refill } = stated
  const partitionKey = key === undefined ? {} : { partitionKey: new TextEncoder().encode(key) }
  const windowMs = stated.windowMs ?? (stated.full ? windowUntilFullMs(stated) : undefined)
  const rate =
    quota !== undefined && windowMs !== undefined ? { ratePerSecond: (quota / windowMs) * 1000 } : {}
  const bucket = refill ?? (stated.full ? 'bucket' : undefined)
  const policy = quota !== undefined && {
    ...{ policy: name, ...partitionKey, unit, quota },
    ...(windowMs !== undefined && { windowSeconds: Math.ceil(windowMs / 1000) }),
    ...(bucket !== undefined && { refill: bucket, ...rate }),
  }
  const moreMs = stated.full || stated.resetMs === undefined ? untilMoreMs(stated, windowMs) : stated.resetMs
  const limit = left !== undefined && { policy: name, ...partitionKey, available: left, ...timeOf(moreMs) }
  return { ...(limit && { limit }), ...(policy && { policy }) }
}

/** Of a quota that is whole again after a time, and short of some units now: how long a whole one takes. */
function windowUntilFullMs({ quota, left, resetMs }: Stated): number | undefined {
  if (quota === undefined || left === undefined || resetMs === undefined) return undefined
  if (left >= quota || resetMs === 0) return undefined
  const ms = (quota * resetMs) / (quota - left)
  return usualMs.find((usual) => Math.abs(ms - usual) <= usual / 4) ?? ms
}

/** Of a bucket: the time in which as many units come back as are left, or the first one. */
function untilMoreMs(
  { quota, left, full, refill }: Stated,
  windowMs: number | undefined,
): number | undefined {
  if (quota === undefined || left === undefined || windowMs === undefined || quota === 0) return undefined
  return full || refill === 'bucket' ? (Math.max(1, left) * windowMs) / quota : undefined
}

function timeOf(ms: number | undefined): Pick<ServiceLimit, 'effectiveWindowSeconds' | 'effectiveWindowMs'> {
  if (ms === undefined) return {}
  const seconds = Math.ceil(ms / 1000)
  return { effectiveWindowSeconds: seconds, ...(ms % 1000 !== 0 && { effectiveWindowMs: Math.ceil(ms) }) }
}
