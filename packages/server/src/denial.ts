import { type Cost, costOf } from './cost.js'
import { refusal } from './decided.js'
import type { Limit, Refused } from './decision.js'
import { NONE } from './list.js'
import type { Draft } from './plain.js'
import type { Policy } from './policy.js'
import type { Charge } from './store.js'

/** A refusal that holds until time alone may have freed enough. */
export interface Denial<Name extends string> {
  readonly charges: readonly Charge[]
  readonly decision: Refused<Name>
  /** When the refused call would fit, with no other traffic. */
  readonly fitsMs: number
  /** Until when the refusal is repeated. */
  readonly untilMs: number
  /** As what its repetitions are counted; undefined while there are none. */
  offences: readonly string[] | undefined
  /** What was said last, which one who calls on and on is told again until a millisecond is over. */
  said: Said<Name> | undefined
}

interface Said<Name extends string> {
  readonly cost: number | undefined
  /** Whole milliseconds since the refusal. */
  readonly passedMs: number
  readonly limits: readonly Limit<Name>[]
}

/**
 * The refusal again, with what is left of its wait. None for a call that is cheaper than the refused one, or dearer
 * than a quota, which is no matter of time; and none for a dearer one whose wait the refusal does not tell. A shadow is
 * not asked: it is charged for what passes only, and a call that is refused anyway is no news of it.
 */
export function repeated<Name extends string>(
  denial: Denial<Name>,
  cost: Cost<Name> | undefined,
  nowMs: number,
): Refused<Name> | undefined {
  const { decision, fitsMs, said } = denial
  const leftMs = fitsMs - nowMs
  const passedMs = decision.retryAfterSeconds * 1000 - leftMs
  if (said !== undefined && said.cost === cost && said.passedMs === Math.floor(passedMs))
    return again(decision, said.limits, leftMs)
  return saidAnew(denial, cost, leftMs, passedMs)
}

function saidAnew<Name extends string>(
  denial: Denial<Name>,
  cost: Cost<Name> | undefined,
  leftMs: number,
  passedMs: number,
): Refused<Name> | undefined {
  const { charges, decision } = denial
  let waitMs = leftMs
  let waitsLonger = false
  const limits: Limit<Name>[] = []
  for (let i = 0; i < charges.length; i += 1) {
    const [charge, limit] = [charges[i], decision.limits[i]]
    if (charge === undefined || limit === undefined) return undefined
    const own = costOf(cost, charge.policy)
    if (limit.allowed ? own > limit.available : own < charge.cost || own > limit.quota) return undefined
    const moreMs = limit.allowed || own === charge.cost ? 0 : moreFor(own - charge.cost, charge.policy)
    if (moreMs === undefined) return undefined
    const said = limitAfter(limit, own, passedMs - moreMs)
    if (moreMs > 0) {
      waitMs = Math.max(waitMs, said.effectiveWindowMs ?? 0)
      waitsLonger = true
    }
    limits.push(said)
  }
  // Where nothing is added to the waits, these are in whole milliseconds of those that have passed.
  if (!waitsLonger && typeof cost !== 'object') denial.said = { cost, passedMs: Math.floor(passedMs), limits }
  return again(decision, limits, waitMs)
}

function again<Name extends string>(
  { violated, plan }: Refused<Name>,
  limits: readonly Limit<Name>[],
  waitMs: number,
): Refused<Name> {
  const said: Draft<Refused<Name>> = refusal(limits, violated, waitMs / 1000, 'deny-cache', NONE)
  if (plan !== undefined) said.plan = plan
  return said
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
