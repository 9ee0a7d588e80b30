import type { QuotaPolicy, Refill, ServiceLimit } from '@ratepact/contract'
import { createPace, type PaceOptions } from '../../../packages/client/src/pace/engine.js'
import type { Answer, Flight, Pace } from '../../../packages/client/src/pace/pace.js'

/** One limit as an answer states it, in the letters of the fields. */
export interface Stated {
  readonly name?: string
  readonly r?: number
  readonly t?: number
  readonly tMs?: number
  readonly q?: number
  readonly w?: number
  readonly unit?: string
  readonly refill?: Refill
  readonly rate?: number
  readonly pk?: Uint8Array
  readonly c?: number
}

export interface Hand {
  readonly pace: Pace
  nowMs: number
  /** Milliseconds from now until a call may go: 0 = now. */
  waitMs(route?: string, cost?: number, queued?: number): number
  send(route?: string, cost?: number): Flight
  accept(flight: Flight, ...stated: readonly Stated[]): void
  refuse(flight: Flight, about: { retryAfterMs?: number }, ...stated: readonly Stated[]): void
  /** Sends as many as may go at this instant, at most `most`. */
  sendAll(most: number, route?: string): Flight[]
}

/** An engine on a clock moved by hand, with all chance at one half. */
export function hand(options: Partial<PaceOptions> = {}): Hand {
  const time = { nowMs: 0 }
  const clock = { now: () => time.nowMs }
  const pace = createPace({ clock, random: () => 0.5, ...options })
  const self: Hand = {
    pace,
    get nowMs() {
      return time.nowMs
    },
    set nowMs(nowMs) {
      time.nowMs = nowMs
    },
    waitMs: (route = 'GET /', cost = 1, queued = 1) =>
      Math.max(0, pace.next(route, cost, queued) - self.nowMs),
    send: (route = 'GET /', cost = 1) => pace.send(route, cost),
    accept: (flight, ...stated) => pace.answered(flight, answer('accepted', stated)),
    refuse: (flight, about, ...stated) => pace.answered(flight, { ...answer('refused', stated), ...about }),
    sendAll: (most, route = 'GET /') => {
      const flights: Flight[] = []
      while (flights.length < most && pace.next(route, 1, most - flights.length) <= self.nowMs) {
        flights.push(pace.send(route, 1))
      }
      return flights
    },
  }
  return self
}

export function answer(outcome: Answer['outcome'], stated: readonly Stated[]): Answer {
  return { outcome, limits: stated.flatMap(limitOf), policies: stated.flatMap(policyOf) }
}

function limitOf(stated: Stated): ServiceLimit[] {
  const { name = 'api', r, t, tMs, pk, c } = stated
  if (r === undefined) return []
  return [
    {
      policy: name,
      available: r,
      ...(t === undefined ? {} : { effectiveWindowSeconds: t }),
      ...(tMs === undefined ? {} : { effectiveWindowMs: tMs }),
      ...(pk === undefined ? {} : { partitionKey: pk }),
      ...(c === undefined ? {} : { cost: c }),
    },
  ]
}

export function policyOf(stated: Stated): QuotaPolicy[] {
  const { name = 'api', q, w, unit = 'requests', refill, rate, pk } = stated
  if (q === undefined) return []
  return [
    {
      policy: name,
      quota: q,
      unit,
      ...(w === undefined ? {} : { windowSeconds: w }),
      ...(refill === undefined ? {} : { refill }),
      ...(rate === undefined ? {} : { ratePerSecond: rate }),
      ...(pk === undefined ? {} : { partitionKey: pk }),
    },
  ]
}
