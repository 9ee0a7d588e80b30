import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import { createPace } from '../../../../packages/client/src/pace/engine.js'
import type { Answer, Flight } from '../../../../packages/client/src/pace/pace.js'
import { seeded } from './random.js'
import type { Server, Verdict } from './servers.js'

/** One client with a backlog against one server. */
export interface Scenario {
  readonly server: (random: () => number) => Server
  readonly calls: number
  readonly rttMs: number
  /** One-way delays lie within this share of half the round trip. Default 0.3. */
  readonly jitter?: number
  /** Share of messages delayed up to three times. Default 0.01. */
  readonly strays?: number
  /** What the server says beside whole seconds of `t`: how it refills, and milliseconds. Default nothing. */
  readonly hints?: boolean
  /** How long the server is busy with each request before it decides, one after the other. Default 0. */
  readonly busyMs?: (nowMs: number, random: () => number) => number
  /** How long the work takes after the decision. Default 0. */
  readonly workMs?: (random: () => number) => number
  readonly mostInFlight?: number
  /** Timers fire up to this much late. Default 0. */
  readonly timersLateMs?: number
  /** Milliseconds between arrivals of calls at the client's queue. Default 0: all at once. */
  readonly spacingMs?: (random: () => number) => number
  readonly seed: number
}

export interface Outcome {
  /** Until the last answer, by the time an omniscient client takes. */
  readonly ratio: number
  readonly makespanMs: number
  readonly refused: number
  readonly sends: number
}

interface Event {
  readonly atMs: number
  readonly order: number
  run(): void
}

class Timeline {
  nowMs = 0
  #order = 0
  readonly #events: Event[] = []

  at(atMs: number, run: () => void): void {
    const event = { atMs, order: this.#order++, run }
    let index = this.#events.length
    while (index > 0 && (this.#events[index - 1]?.atMs ?? 0) <= atMs) {
      if (this.#events[index - 1]?.atMs === atMs) break
      index -= 1
    }
    // Kept latest first, so that the next event is taken from the end; equal instants in the order they were made.
    while (index > 0 && (this.#events[index - 1]?.atMs ?? 0) <= atMs) index -= 1
    this.#events.splice(index, 0, event)
  }

  step(): boolean {
    const event = this.#events.pop()
    if (event === undefined) return false
    this.nowMs = Math.max(this.nowMs, event.atMs)
    event.run()
    return true
  }
}

const mostEvents = 200_000

/** Plays a scenario to its end; fails if the client stops or spins. */
export function play(scenario: Scenario): Outcome {
  const random = seeded(scenario.seed)
  const world = new Timeline()
  const server = scenario.server(random)
  const pace = createPace({ clock: { now: () => world.nowMs }, random })
  const { calls, mostInFlight = 16, timersLateMs = 0 } = scenario
  let waiting = scenario.spacingMs === undefined ? calls : 0
  let inFlight = 0
  let done = 0
  let refused = 0
  let sends = 0
  let lastMs = 0
  let wakeAtMs = Number.POSITIVE_INFINITY

  const delayMs = () => {
    const half = scenario.rttMs / 2
    const jitter = scenario.jitter ?? 0.3
    const usual = half * (1 - jitter + 2 * jitter * random())
    return random() < (scenario.strays ?? 0.01) ? usual * (1 + 2 * random()) : usual
  }

  const pump = () => {
    while (waiting > 0 && inFlight < mostInFlight) {
      const atMs = pace.next('GET /', 1, waiting)
      if (atMs > world.nowMs) {
        if (atMs < wakeAtMs) {
          wakeAtMs = atMs
          world.at(atMs + timersLateMs * random(), () => {
            wakeAtMs = Number.POSITIVE_INFINITY
            pump()
          })
        }
        return
      }
      waiting -= 1
      inFlight += 1
      sends += 1
      dispatch(pace.send('GET /', 1))
    }
  }

  let freeAtMs = 0
  const arrive = (decide: () => void) => {
    if (scenario.busyMs === undefined) return decide()
    freeAtMs = Math.max(world.nowMs, freeAtMs) + scenario.busyMs(world.nowMs, random)
    world.at(freeAtMs, decide)
  }

  const dispatch = (flight: Flight) => {
    const decide = () => {
      const verdict = server.decide(world.nowMs)
      const workMs = verdict.accepted ? (scenario.workMs?.(random) ?? 0) : 0
      world.at(world.nowMs + verdict.heldMs + workMs + delayMs(), () => {
        inFlight -= 1
        if (verdict.accepted) done += 1
        else {
          refused += 1
          waiting += 1
        }
        lastMs = world.nowMs
        pace.answered(flight, answer(server, verdict, scenario.hints === true))
        pump()
      })
    }
    world.at(world.nowMs + delayMs(), () => arrive(decide))
  }

  if (scenario.spacingMs !== undefined) {
    let atMs = 0
    for (let call = 0; call < calls; call += 1) {
      atMs += scenario.spacingMs(random)
      world.at(atMs, () => {
        waiting += 1
        pump()
      })
    }
  }
  pump()
  let events = 0
  while (done < calls) {
    events += 1
    if (!world.step()) throw new Error(`Expected ${calls} calls to be done, got stuck at ${done}`)
    if (events > mostEvents) throw new Error(`Expected an end, got ${events} events at ${world.nowMs} ms`)
  }
  const ideal = omniscientMs(scenario.server(seeded(scenario.seed)), calls, scenario.rttMs)
  return { ratio: lastMs / ideal, makespanMs: lastMs, refused, sends }
}

/** The least time in which so many calls can be made: each arrives the moment it is admitted. */
export function omniscientMs(server: Server, calls: number, rttMs: number): number {
  let nowMs = rttMs / 2
  let lastMs = nowMs
  for (let done = 0; done < calls; ) {
    const verdict = server.decide(nowMs)
    if (verdict.accepted) {
      done += 1
      lastMs = Math.max(lastMs, nowMs + verdict.heldMs)
    } else
      nowMs += Math.max(
        0.01,
        Math.min(verdict.tMs, 1000 / (server.ratePerSecond ?? server.quota / (server.windowMs / 1000)), 10),
      )
  }
  return lastMs + rttMs / 2
}

/** What the server's fields come to for the client: whole seconds rounded up, and with hints the exact figures too. */
export function answer(server: Server, verdict: Verdict, hints: boolean): Answer {
  const ms = Math.max(1, Math.ceil(verdict.tMs - 1e-6))
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  const limit: ServiceLimit = {
    policy: 'api',
    available: verdict.available,
    effectiveWindowSeconds: seconds,
    ...(hints ? { effectiveWindowMs: ms } : {}),
  }
  const policy: QuotaPolicy = {
    policy: 'api',
    quota: server.quota,
    unit: 'requests',
    windowSeconds: server.windowMs / 1000,
    ...(hints ? { refill: server.refill } : {}),
    ...(hints && server.ratePerSecond !== undefined ? { ratePerSecond: server.ratePerSecond } : {}),
  }
  if (verdict.accepted) return { outcome: 'accepted', limits: [limit], policies: [policy] }
  const retryAfterMs = hints ? ms : seconds * 1000
  return { outcome: 'refused', limits: [limit], policies: [policy], retryAfterMs, violated: ['api'] }
}
