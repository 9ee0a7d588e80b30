import type { Decision, Limit, Refused } from './decision.js'
import type { Charge } from './store.js'

/** Answers callers that have just been refused, without asking the store again. */
export interface DenyCache<Name extends string> {
  /** The refusal that still holds for such a call. */
  find(plan: string | undefined, charges: readonly Charge[], nowMs: number): Refused<Name> | undefined
  /** Notes what the store said to a call sent at `sentMs`. */
  keep(plan: string | undefined, charges: readonly Charge[], decision: Decision<Name>, sentMs: number): void
  clear(): void
}

interface Entry<Name extends string> {
  readonly decision: Refused<Name>
  /** When the refused call would fit, with no other traffic. */
  readonly fitsMs: number
  /** Until when the refusal is repeated. */
  readonly untilMs: number
}

const MOST_KEPT = 10_000

/**
 * A refusal is repeated until the instant before which the passing of time alone cannot free enough, but no longer
 * than `maxSeconds`: for so long, what is given back elsewhere may go unnoticed.
 */
export function createDenyCache<Name extends string>(maxSeconds: number): DenyCache<Name> {
  const entries = new Map<string, Entry<Name>>()
  return {
    find(plan, charges, nowMs) {
      if (entries.size === 0) return undefined
      const key = keyOf(plan, charges)
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (entry.untilMs <= nowMs) {
        entries.delete(key)
        return undefined
      }
      const dearer = entry.decision.limits.every(
        (limit, i) => limit.allowed || (charges[i]?.cost ?? 0) >= limit.cost,
      )
      return dearer ? repeat(entry, charges, nowMs) : undefined
    },
    keep(plan, charges, decision, sentMs) {
      if (decision.outcome !== 'refused' || waitsForPlaces(charges, decision)) return
      const fitsMs = sentMs + decision.retryAfterSeconds * 1000
      const untilMs = Math.min(fitsMs, sentMs + maxSeconds * 1000)
      const key = keyOf(plan, charges)
      entries.delete(key)
      const [oldest] = entries.keys()
      if (entries.size >= MOST_KEPT && oldest !== undefined) entries.delete(oldest)
      entries.set(key, { decision, fitsMs, untilMs })
    },
    clear: () => entries.clear(),
  }
}

/** When a place is free is not a matter of time. */
function waitsForPlaces(charges: readonly Charge[], { limits }: Refused): boolean {
  return limits.some((limit, i) => !limit.allowed && charges[i]?.policy.algorithm === 'concurrency')
}

/** The refusal again, with what is left of its wait. */
function repeat<Name extends string>(
  { decision, fitsMs }: Entry<Name>,
  charges: readonly Charge[],
  nowMs: number,
): Refused<Name> {
  const passedMs = decision.retryAfterSeconds * 1000 - (fitsMs - nowMs)
  const limits = decision.limits.map((limit, i): Limit<Name> => {
    const cost = charges[i]?.cost ?? limit.cost
    const { effectiveWindowMs } = limit
    if (limit.allowed || effectiveWindowMs === undefined) return { ...limit, cost }
    const leftMs = Math.max(1, Math.ceil(effectiveWindowMs - passedMs))
    return { ...limit, cost, effectiveWindowMs: leftMs, effectiveWindowSeconds: Math.ceil(leftMs / 1000) }
  })
  return { ...decision, limits, retryAfterSeconds: (fitsMs - nowMs) / 1000, source: 'deny-cache' }
}

/** One text per set of buckets. Lengths go before what callers choose, so that no two sets share one. */
function keyOf(plan: string | undefined, charges: readonly Charge[]): string {
  let key = plan ?? ''
  for (const { owner } of charges) {
    key += ` ${owner.kind} ${owner.value.length}:${owner.value}`
    if (owner.scope !== undefined) key += ` ${owner.scope.length}:${owner.scope}`
  }
  return key
}
