import { type Cost, costOf } from './cost.js'
import type { Decision, Limit, Refused } from './decision.js'
import type { Policy } from './policy.js'
import { short } from './short.js'
import type { Charge } from './store.js'

/** Answers callers that have just been refused, without asking the store again. */
export interface DenyCache<Name extends string> {
  /** The refusal that still holds for a call that costs so much, with its wait. @param caller what `callerOf` says of it */
  find(caller: string | undefined, cost: Cost<Name> | undefined, nowMs: number): Refused<Name> | undefined
  /** Notes what the store said to a call sent at `sentMs`. */
  keep(caller: string | undefined, charges: readonly Charge[], decision: Decision<Name>, sentMs: number): void
  clear(): void
}

interface Entry<Name extends string> {
  readonly charges: readonly Charge[]
  readonly decision: Refused<Name>
  /** When the refused call would fit, with no other traffic. */
  readonly fitsMs: number
  /** Until when the refusal is repeated. */
  readonly untilMs: number
}

const MOST_KEPT = 10_000

/**
 * A refusal is repeated until the instant before which the passing of time alone cannot free enough, but no longer
 * than `maxSeconds`: for so long, what is given back elsewhere may go unnoticed. Where calls are held the time passes
 * sooner, by as long as a call may be.
 */
export function createDenyCache<Name extends string>(maxSeconds: number, holdMs = 0): DenyCache<Name> {
  const entries = new Map<string, Entry<Name>>()
  return {
    find(caller, cost, nowMs) {
      if (caller === undefined || entries.size === 0) return undefined
      const entry = entries.get(caller)
      if (entry === undefined) return undefined
      if (entry.untilMs <= nowMs) {
        entries.delete(caller)
        return undefined
      }
      return repeat(entry, cost, nowMs)
    },
    keep(caller, charges, decision, sentMs) {
      if (caller === undefined || decision.outcome !== 'refused') return
      if (waitsForPlaces(charges, decision)) return
      const fitsMs = sentMs + decision.retryAfterSeconds * 1000
      const untilMs = Math.min(fitsMs - holdMs, sentMs + maxSeconds * 1000)
      entries.delete(caller)
      if (untilMs <= sentMs) return
      const [oldest] = entries.keys()
      if (entries.size >= MOST_KEPT && oldest !== undefined) entries.delete(oldest)
      entries.set(caller, { charges, decision, fitsMs, untilMs })
    },
    clear: () => entries.clear(),
  }
}

/** When a place is free is not a matter of time. */
function waitsForPlaces(charges: readonly Charge[], { limits }: Refused): boolean {
  return limits.some((limit, i) => !limit.allowed && charges[i]?.policy.algorithm === 'concurrency')
}

/**
 * The refusal again, with what is left of its wait. None for a call that is cheaper than the refused one, or dearer
 * than a quota, which is no matter of time; and none for a dearer one whose wait the refusal does not tell. A shadow is
 * not asked: it is charged for what passes only, and a call that is refused anyway is no news of it.
 */
function repeat<Name extends string>(
  { charges, decision, fitsMs }: Entry<Name>,
  cost: Cost<Name> | undefined,
  nowMs: number,
): Refused<Name> | undefined {
  const passedMs = decision.retryAfterSeconds * 1000 - (fitsMs - nowMs)
  let waitMs = fitsMs - nowMs
  const limits: Limit<Name>[] = []
  for (let i = 0; i < charges.length; i += 1) {
    const [charge, limit] = [charges[i], decision.limits[i]]
    if (charge === undefined || limit === undefined) return undefined
    const own = costOf(cost, charge.policy)
    if (limit.allowed ? own > limit.available : own < charge.cost || own > limit.quota) return undefined
    const moreMs = limit.allowed || own === charge.cost ? 0 : moreFor(own - charge.cost, charge.policy)
    if (moreMs === undefined) return undefined
    const said = limitAfter(limit, own, passedMs - moreMs)
    if (moreMs > 0) waitMs = Math.max(waitMs, said.effectiveWindowMs ?? 0)
    limits.push(said)
  }
  return { ...decision, limits, retryAfterSeconds: waitMs / 1000, source: 'deny-cache', shadow: [] }
}

/**
 * How much longer than the call that was refused one has to wait that costs so many units more; undefined where that
 * takes more than a refusal to say. A bucket's units come back one after another, a window's all at once.
 */
function moreFor(units: number, policy: Policy): number | undefined {
  if (policy.algorithm === 'fixed-window') return policy.holdUs === undefined ? 0 : undefined
  if (!('ticks' in policy)) return undefined
  const { quota, queueTicks, ticks } = policy
  // What may not wait in a queue for long passes by its level, whatever it costs.
  if (queueTicks < quota * ticks.unit) return undefined
  return Math.ceil((units * ticks.unit) / ticks.rate) / 1000
}

function limitAfter<Name extends string>(limit: Limit<Name>, cost: number, passedMs: number): Limit<Name> {
  const { effectiveWindowMs } = limit
  if (limit.allowed || effectiveWindowMs === undefined) return { ...limit, cost }
  const leftMs = Math.max(1, Math.ceil(effectiveWindowMs - passedMs))
  return { ...limit, cost, effectiveWindowMs: leftMs, effectiveWindowSeconds: Math.ceil(leftMs / 1000) }
}

/**
 * One text per set of buckets. Lengths go before what callers choose, so that no two sets share one. Undefined where
 * the partition is not what it must be.
 * @param scope only where a policy counts per scope
 */
export function callerOf(
  partition: unknown,
  scope: string | undefined,
  plan: string | undefined,
): string | undefined {
  const called = scope && short(scope)
  const how = plan === undefined && scope === undefined ? '' : `${plan ?? ''} ${called?.length}:${called} `
  if (typeof partition === 'string') return `${how}=${short(partition)}`
  if (typeof partition !== 'object' || partition === null) return undefined
  let caller = how
  for (const [kind, value] of Object.entries(partition)) {
    if (typeof value !== 'string') return undefined
    const own = short(value)
    caller += `${kind} ${own.length}:${own} `
  }
  return caller
}
