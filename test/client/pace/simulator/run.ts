import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import { createPace } from '../../../../packages/client/src/pace/engine.js'
import type { Answer, Flight } from '../../../../packages/client/src/pace/pace.js'
import { seeded } from './random.js'
import type { Server, Verdict } from './servers.js'
import { Timeline } from './timeline.js'

/** Clients that know nothing of each other, each with a backlog, against one service. */
export interface Scenario {
  /** One policy, or several that all must admit a request. */
  readonly server: (random: () => number) => Server | readonly Server[]
  /** How many clients there are. Default 1. */
  readonly clients?: number
  /** When each client starts. Default within 10 ms. */
  readonly startsMs?: readonly number[]
  /** Calls of each client; Infinity with `lastingMs`. */
  readonly calls: number
  /** Ends the run at this instant, whatever is left to do. Default never. */
  readonly lastingMs?: number
  readonly rttMs: number
  /** One-way delays lie within this share of half the round trip. Default 0.3. */
  readonly jitter?: number
  /** Share of messages delayed up to three times. Default 0.01. */
  readonly strays?: number
  /** What the server says beside whole seconds of `t`. Default nothing; true = how it refills, and milliseconds. */
  readonly hints?: boolean | Hints
  /** What answers state at all. Default everything. */
  readonly says?: 'all' | 'no-policy' | 'retry-after'
  /** How long a request takes longer for which no connection is open and idle. Default 0. */
  readonly connectMs?: number
  /** How long the server is busy with each request before it decides, one after the other. Default 0. */
  readonly busyMs?: (nowMs: number, random: () => number) => number
  /** How long the work takes after the decision. Default 0. */
  readonly workMs?: (random: () => number) => number
  readonly mostInFlight?: number
  /** Timers fire up to this much late. Default 0. */
  readonly timersLateMs?: number
  /** Milliseconds between arrivals of calls at each client's queue. Default 0: all at once. */
  readonly spacingMs?: (random: () => number) => number
  readonly seed: number
}

/** Help of the server (`ratepact-refill`, `ratepact-t-ms`, `ratepact-n`). */
export interface Hints {
  readonly kind?: boolean
  readonly ms?: boolean
  readonly instances?: boolean
}

export interface Outcome {
  /** Until the last answer, by the time an omniscient client takes. */
  readonly ratio: number
  readonly makespanMs: number
  readonly refused: number
  readonly sends: number
  /** Calls accepted after the first fifth of a lasting run, of each client. */
  readonly accepted: readonly number[]
}

const mostEvents = 400_000

/** Plays a scenario to its end; fails if a client stops or spins. */
export function play(scenario: Scenario): Outcome {
  const run = new Run(scenario)
  const { lastingMs = Number.POSITIVE_INFINITY } = scenario
  const all = scenario.calls * run.clients.length
  let events = 0
  while (run.done < all) {
    events += 1
    if (!run.world.step()) throw new Error(`Expected ${all} calls to be done, got stuck at ${run.done}`)
    if (run.world.nowMs >= lastingMs) break
    if (events > mostEvents) throw new Error(`Expected an end, got ${events} events at ${run.world.nowMs} ms`)
  }
  const servers = listOf(scenario.server(seeded(scenario.seed)))
  const ideal = lastingMs < Number.POSITIVE_INFINITY ? Number.NaN : omniscientMs(servers, all, scenario.rttMs)
  return {
    ratio: run.lastMs / ideal,
    makespanMs: run.lastMs,
    refused: run.refused,
    sends: run.sends,
    accepted: run.clients.map(({ accepted }) => accepted),
  }
}

class Run {
  readonly scenario: Scenario
  readonly world = new Timeline()
  readonly clients: Client[] = []
  done = 0
  refused = 0
  sends = 0
  lastMs = 0
  readonly #random: () => number
  readonly #servers: readonly Server[]
  readonly #seen = new Map<number, number>()
  #freeAtMs = 0
  #idleConnections = 0

  constructor(scenario: Scenario) {
    this.scenario = scenario
    this.#random = seeded(scenario.seed)
    this.#servers = listOf(scenario.server(this.#random))
    const many = scenario.clients ?? 1
    for (let id = 0; id < many; id += 1) {
      const random = many === 1 ? this.#random : seeded(1000 * scenario.seed + id + 7)
      const client = new Client(this, id, random)
      this.clients.push(client)
      if (many === 1) client.start()
      else this.world.at(scenario.startsMs?.[id] ?? 10 * this.#random(), () => client.start())
    }
  }

  /** Takes a request to the server, and its answer back. */
  carry(id: number, answered: (answer: Answer) => void): void {
    this.sends += 1
    this.world.at(this.world.nowMs + this.#connectMs() + this.#delayMs(), () =>
      this.#queueAtServer(() =>
        this.#decide(id, (answer) => {
          this.#idleConnections += 1
          answered(answer)
        }),
      ),
    )
  }

  #connectMs(): number {
    if (this.#idleConnections === 0) return this.scenario.connectMs ?? 0
    this.#idleConnections -= 1
    return 0
  }

  #queueAtServer(decide: () => void): void {
    const { busyMs } = this.scenario
    if (busyMs === undefined) {
      decide()
      return
    }
    const { nowMs } = this.world
    this.#freeAtMs = Math.max(nowMs, this.#freeAtMs) + busyMs(nowMs, this.#random)
    this.world.at(this.#freeAtMs, decide)
  }

  #decide(id: number, answered: (answer: Answer) => void): void {
    const { nowMs } = this.world
    const { scenario } = this
    const verdicts = decideAll(this.#servers, nowMs)
    const accepted = verdicts.every((verdict) => verdict.accepted)
    const workMs = accepted ? (scenario.workMs?.(this.#random) ?? 0) : 0
    const heldMs = Math.max(...verdicts.map((verdict) => verdict.heldMs))
    if (accepted) this.#seen.set(id, nowMs)
    const reply = (): void => {
      const answer = answerOf(
        this.#servers,
        verdicts,
        hintsOf(scenario),
        scenario.says,
        this.#instances(nowMs),
      )
      this.world.at(this.world.nowMs + this.#delayMs(), () => {
        if (accepted) this.done += 1
        else this.refused += 1
        this.lastMs = this.world.nowMs
        answered(answer)
      })
    }
    if (heldMs + workMs > 0) this.world.at(nowMs + heldMs + workMs, reply)
    else reply()
  }

  /** How many clients were seen of late, as the server counts them. */
  #instances(nowMs: number): number | undefined {
    const [server] = this.#servers
    if (hintsOf(this.scenario).instances !== true || server === undefined) return undefined
    const count = (withinMs: number) =>
      [...this.#seen.values()].filter((atMs) => atMs >= nowMs - withinMs).length
    const first = count(Math.max(2000, (3 * this.#seen.size * server.windowMs) / server.quota))
    return Math.max(1, Math.min(first, 4 * server.quota))
  }

  #delayMs(): number {
    const { rttMs, jitter = 0.3, strays = 0.01 } = this.scenario
    const usual = (rttMs / 2) * (1 - jitter + 2 * jitter * this.#random())
    return this.#random() < strays ? usual * (1 + 2 * this.#random()) : usual
  }
}

class Client {
  accepted = 0
  readonly #run: Run
  readonly #id: number
  readonly #random: () => number
  readonly #pace
  #waiting = 0
  #inFlight = 0
  #wakeAtMs = Number.POSITIVE_INFINITY

  constructor(run: Run, id: number, random: () => number) {
    this.#run = run
    this.#id = id
    this.#random = random
    this.#pace = createPace({ clock: { now: () => run.world.nowMs }, random })
  }

  start(): void {
    const { calls, spacingMs } = this.#run.scenario
    if (spacingMs === undefined) this.#waiting = calls
    else {
      let atMs = this.#run.world.nowMs
      for (let call = 0; call < calls; call += 1) {
        atMs += spacingMs(this.#random)
        this.#run.world.at(atMs, () => {
          this.#waiting += 1
          this.#pump()
        })
      }
    }
    this.#pump()
  }

  #pump(): void {
    const { world, scenario } = this.#run
    while (this.#waiting > 0 && this.#inFlight < (scenario.mostInFlight ?? 16)) {
      const atMs = this.#pace.next('GET /', 1, this.#waiting)
      if (atMs > world.nowMs) {
        this.#wake(atMs)
        return
      }
      this.#waiting -= 1
      this.#inFlight += 1
      const flight = this.#pace.send('GET /', 1)
      this.#run.carry(this.#id, (answer) => this.#answered(flight, answer))
    }
  }

  #wake(atMs: number): void {
    if (atMs >= this.#wakeAtMs || atMs === Number.POSITIVE_INFINITY) return
    this.#wakeAtMs = atMs
    this.#run.world.at(atMs + (this.#run.scenario.timersLateMs ?? 0) * this.#random(), () => {
      this.#wakeAtMs = Number.POSITIVE_INFINITY
      this.#pump()
    })
  }

  #answered(flight: Flight, answer: Answer): void {
    const { world, scenario } = this.#run
    this.#inFlight -= 1
    if (answer.outcome === 'refused') this.#waiting += 1
    else if (world.nowMs >= (scenario.lastingMs ?? 0) / 5) this.accepted += 1
    this.#pace.answered(flight, answer)
    this.#pump()
  }
}

function listOf(servers: Server | readonly Server[]): readonly Server[] {
  return 'decide' in servers ? [servers] : servers
}

function hintsOf({ hints = {} }: Scenario): Hints {
  return typeof hints === 'boolean' ? { kind: hints, ms: hints } : hints
}

/** All policies decide; where one refuses, the others take back their charge. */
function decideAll(servers: readonly Server[], nowMs: number): readonly Verdict[] {
  const verdicts = servers.map((server) => server.decide(nowMs))
  if (verdicts.every(({ accepted }) => accepted)) return verdicts
  return verdicts.map((verdict, index) => {
    if (verdict.accepted) servers[index]?.undo()
    return verdict.accepted ? { ...verdict, available: verdict.available + 1 } : verdict
  })
}

/** The least time in which so many calls can be made: each arrives the moment it is admitted. */
export function omniscientMs(servers: readonly Server[], calls: number, rttMs: number): number {
  let nowMs = rttMs / 2
  let lastMs = nowMs
  for (let done = 0; done < calls; ) {
    const verdicts = decideAll(servers, nowMs)
    if (verdicts.every(({ accepted }) => accepted)) {
      done += 1
      lastMs = Math.max(lastMs, ...verdicts.map(({ heldMs }) => nowMs + heldMs))
      continue
    }
    const waits = verdicts.map(({ tMs, accepted }, index) =>
      accepted ? 0 : Math.min(tMs, unitMs(servers[index]), 10),
    )
    nowMs += Math.max(0.01, ...waits)
  }
  return lastMs + rttMs / 2
}

function unitMs(server: Server | undefined): number {
  if (server === undefined) return 0
  return 1000 / (server.ratePerSecond ?? server.quota / (server.windowMs / 1000))
}

/** What the server's fields come to for the client: whole seconds rounded up, and with hints the exact figures too. */
function answerOf(
  servers: readonly Server[],
  verdicts: readonly Verdict[],
  hints: Hints,
  says: Scenario['says'] = 'all',
  instances?: number,
): Answer {
  const limits: ServiceLimit[] = []
  const policies: QuotaPolicy[] = []
  let refused = false
  let retryMs = 0
  for (const [index, { accepted, available, tMs }] of verdicts.entries()) {
    const server = servers[index]
    if (server === undefined) continue
    const policy = index === 0 ? 'api' : `api-${index + 1}`
    const ms = Math.max(1, Math.ceil(tMs - 1e-6))
    limits.push({
      policy,
      available,
      effectiveWindowSeconds: Math.ceil(ms / 1000),
      ...(hints.ms ? { effectiveWindowMs: ms } : {}),
      ...(instances === undefined ? {} : { instances }),
    })
    policies.push({
      policy,
      quota: server.quota,
      unit: 'requests',
      windowSeconds: server.windowMs / 1000,
      ...(hints.kind ? { refill: server.refill } : {}),
      ...(hints.kind && server.ratePerSecond !== undefined ? { ratePerSecond: server.ratePerSecond } : {}),
    })
    if (accepted) continue
    refused = true
    retryMs = Math.max(retryMs, hints.ms ? ms : 1000 * Math.ceil(ms / 1000))
  }
  const stated = { limits: says === 'retry-after' ? [] : limits, policies: says === 'all' ? policies : [] }
  return refused
    ? { outcome: 'refused', ...stated, retryAfterMs: retryMs }
    : { outcome: 'accepted', ...stated }
}
