import type { Clock, QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import type { Answer, Flight, KnownLimit, Pace } from './pace.js'

/** What the engine is made from: where time and chance come from, and what is known before the first answer. */
export interface PaceOptions {
  readonly clock: Pick<Clock, 'now'>
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number
  /** Policies known beforehand; each starts full. */
  readonly policies?: readonly QuotaPolicy[]
  /** How long a stated wait is believed before one call asks again, in milliseconds. Default 600 000. */
  readonly maxBlockMs?: number
}

interface Level {
  readonly policy: string
  readonly quota: number
  readonly windowMs: number
  readonly ratePerMs: number
  units: number
  atMs: number
}

const hintlessMs = 1000

/** Paces the calls of one partition. First version: every limit is taken for a bucket that refills steadily. */
export function createPace(options: PaceOptions): Pace {
  const { clock } = options
  const levels = new Map<string, Level>()
  const open = new Set<Flight>()
  let answers = 0
  let refusals = 0
  let blockedUntilMs = Number.NEGATIVE_INFINITY

  function learn(policy: QuotaPolicy, available: number): void {
    const windowMs = (policy.windowSeconds ?? 60) * 1000
    const ratePerMs =
      policy.ratePerSecond !== undefined ? policy.ratePerSecond / 1000 : policy.quota / windowMs
    const units = Math.min(policy.quota, available)
    levels.set(policy.policy, {
      policy: policy.policy,
      quota: policy.quota,
      windowMs,
      ratePerMs,
      units,
      atMs: clock.now(),
    })
  }

  function roll(level: Level, now: number): void {
    level.units = Math.min(level.quota, level.units + level.ratePerMs * (now - level.atMs))
    level.atMs = now
  }

  function correct(limit: ServiceLimit, answer: Answer): void {
    const level = levels.get(limit.policy)
    const inFlight = open.size
    if (level === undefined) {
      const stated = answer.policies.find((policy) => policy.policy === limit.policy)
      if (stated !== undefined && stated.unit === 'requests') learn(stated, limit.available - inFlight)
      return
    }
    roll(level, clock.now())
    level.units = Math.max(level.units, Math.min(level.quota, limit.available) - inFlight)
    if (answer.outcome === 'refused' && limit.available === 0) level.units = Math.min(level.units, 0.5)
  }

  for (const policy of options.policies ?? []) learn(policy, policy.quota)

  return {
    next(_route: string, cost: number): number {
      const now = clock.now()
      if (answers === 0 && levels.size === 0) return open.size === 0 ? now : Number.POSITIVE_INFINITY
      if (blockedUntilMs > now) return blockedUntilMs
      if (refusals > 0 && open.size > 0) return Number.POSITIVE_INFINITY
      let at = now
      for (const level of levels.values()) {
        roll(level, now)
        const missing = Math.min(cost, level.quota) - level.units
        if (missing > 1e-9)
          at = Math.max(at, now + Math.min(missing / level.ratePerMs, options.maxBlockMs ?? 600_000))
      }
      return at
    },
    send(route: string, cost: number): Flight {
      const flight: Flight = { route, cost, sentAtMs: clock.now() }
      open.add(flight)
      for (const level of levels.values()) {
        roll(level, flight.sentAtMs)
        level.units -= cost
      }
      return flight
    },
    answered(flight: Flight, answer: Answer): void {
      if (!open.delete(flight)) return
      answers += 1
      for (const limit of answer.limits) correct(limit, answer)
      if (answer.outcome === 'accepted') {
        refusals = 0
        return
      }
      refusals += 1
      const floor = answer.retryAfterMs === undefined ? hintlessMs : 100
      const wait = Math.max(
        answer.retryAfterMs ?? 0,
        Math.min(30_000, floor * 2 ** Math.min(refusals - 1, 20)),
      )
      blockedUntilMs = Math.max(blockedUntilMs, clock.now() + Math.min(wait, options.maxBlockMs ?? 600_000))
    },
    lost(flight: Flight): void {
      open.delete(flight)
    },
    limits(): readonly KnownLimit[] {
      const now = clock.now()
      return [...levels.values()].map((level) => {
        roll(level, now)
        const waitMs = Math.max(0, blockedUntilMs - now, (1 - level.units) / level.ratePerMs)
        return {
          policy: level.policy,
          unit: 'requests',
          quota: level.quota,
          windowSeconds: level.windowMs / 1000,
          available: Math.max(0, Math.floor(level.units)),
          waitSeconds: waitMs / 1000,
        }
      })
    },
    idle(): boolean {
      const now = clock.now()
      if (open.size > 0 || blockedUntilMs > now) return false
      for (const level of levels.values()) {
        roll(level, now)
        if (level.units < level.quota) return false
      }
      return true
    },
  }
}
