import type { Clock, QuotaPolicy } from '@ratepact/contract'
import { Allowance } from './allowance.js'
import { Gate } from './gate.js'
import { KnownLimits } from './known-limits.js'
import type { Limit, Surroundings } from './limit.js'
import type { Answer, Flight, KnownLimit, Pace } from './pace.js'
import { patienceMs } from './patience.js'
import { never } from './quota.js'
import { refusalBy, refusing } from './refusing.js'
import { RoundTrip } from './round-trip.js'
import { type Route, Routes } from './routes.js'
import { type Statement, statements } from './statements.js'

/** What the engine is made from: where time and chance come from, and what is known before the first answer. */
export interface PaceOptions {
  readonly clock: Pick<Clock, 'now'>
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number
  /** Policies known beforehand; each starts full and holds every route. */
  readonly policies?: readonly QuotaPolicy[]
  /** How long a stated wait is believed before one call asks again, in milliseconds. Default 600 000. */
  readonly maxBlockMs?: number
}

const defaultMaxBlockMs = 600_000

/** Makes the pacing engine of one partition. */
export function createPace(options: PaceOptions): Pace {
  return new Engine(options)
}

/** A flight that has not landed. */
interface Open extends Flight {
  readonly on: Route
  readonly limits: Limit[]
  readonly connected: boolean
  /** Where it stands in the list of those. */
  index: number
}

class Engine implements Pace {
  readonly #clock: Pick<Clock, 'now'>
  readonly #around: Surroundings
  readonly #known: KnownLimits
  readonly #routes = new Routes()
  /** In any order. A Map that is empty now and then is made anew each time. */
  readonly #open: Open[] = []
  /** Closed by refusals that name no limit, while none is known. */
  readonly #gate: Gate
  #anyAnswer = false
  #anyPartitionKey = false
  #lastSendMs: number = -never

  constructor(options: PaceOptions) {
    const { clock, random, policies = [], maxBlockMs = defaultMaxBlockMs } = options
    this.#clock = clock
    this.#around = { roundTrip: new RoundTrip(), random: () => chance(random()), maxBlockMs }
    this.#known = new KnownLimits(this.#around, policies, clock.now())
    this.#gate = new Gate(this.#around, new Allowance())
  }

  next(route: string, cost: number, queued: number, believeMs = 0, answerMs: number = patienceMs): number {
    const now = this.#clock.now()
    const known = this.#routes.get(route)
    const units = sane(cost)
    let atMs = Math.max(now, this.#gate.nextMs(now, believeMs, answerMs), this.#probeMs(known, now, answerMs))
    for (const limit of this.#known.holding(known?.keys)) {
      const ownMs = limit.nextMs(now, units, queued, believeMs, answerMs)
      atMs = Math.max(atMs, limit.gate.nextMs(now, believeMs, answerMs), ownMs)
    }
    if (Number.isNaN(atMs)) throw new Error('Expected the next instant to be a number, got NaN')
    return atMs
  }

  send(route: string, cost: number): Flight {
    const used = this.#routes.use(route)
    const limits = [...this.#known.holding(used.keys)]
    const index = this.#open.length
    const connected = index < this.#around.roundTrip.connections
    const sentAtMs = this.#clock.now()
    const flight: Open = { route, cost: sane(cost), sentAtMs, on: used, limits, connected, index }
    used.open += 1
    this.#lastSendMs = sentAtMs
    this.#open.push(flight)
    this.#gate.sent(flight)
    for (const limit of limits) limit.sent(flight)
    return flight
  }

  answered(flight: Flight, answer: Answer): boolean {
    const open = this.#close(flight)
    if (open === undefined) return false
    const now = this.#clock.now()
    this.#around.roundTrip.note(now - flight.sentAtMs, open.connected)
    this.#anyAnswer = true
    open.on.answered = true
    const told = new Map<Limit, Statement>()
    for (const statement of statements(answer)) told.set(this.#known.learn(statement, now), statement)
    for (const limit of told.keys()) this.#adopt(limit, open)
    const { outcome, retryAfterMs } = answer
    const refused = outcome === 'refused'
    const refusers = refused ? refusing(told, open.limits) : []
    let streams = false
    for (const limit of open.limits) {
      if (limit.kind === 'slots') streams = !refused
      const statement = told.get(limit)
      const refusal = refusers.includes(limit) ? refusalBy(statement ?? {}, retryAfterMs) : undefined
      limit.answered(flight, now, { limit: refusal?.limit ?? statement?.limit, refused, refusal })
      if (statement !== undefined) limit.stated(refused)
      else if (answer.silent === true && limit.isGone(now)) this.#known.forget(limit, open.on.keys)
    }
    if (!refused) this.#gate.accepted(flight, now)
    else if (refusers.length === 0) this.#gate.refused(flight, now, retryAfterMs)
    else this.#gate.lost(flight)
    this.#setRoute(open.on, [...told.values()], refused)
    return streams
  }

  keep(flight: Flight, untilMs: number): void {
    for (const limit of (flight as Open).limits) limit.keep(flight, untilMs)
  }

  lost(flight: Flight): void {
    const open = this.#close(flight)
    if (open === undefined) return
    const now = this.#clock.now()
    if (open.connected) this.#around.roundTrip.connections -= 1
    this.#gate.lost(flight)
    for (const limit of open.limits) limit.lost(flight, now)
  }

  limits(route?: string): readonly KnownLimit[] {
    const now = this.#clock.now()
    const some = route === undefined ? this.#known.all() : this.#known.holding(this.#routes.get(route)?.keys)
    return [...some].map((limit) => limit.known(now))
  }

  idle(): boolean {
    const now = this.#clock.now()
    if (this.#open.length > 0 || !this.#gate.isForgettable(now)) return false
    for (const limit of this.#known.all()) if (!limit.isFresh(now)) return false
    return true
  }

  /** Where nothing is known that would hold a route, one call finds out while the others wait. */
  #probeMs(route: Route | undefined, now: number, answerMs: number): number {
    if (!this.#anyAnswer) {
      const free = this.#known.anyGiven || this.#open.length === 0
      return free ? now : Math.max(now, this.#lastSendMs + answerMs)
    }
    // A service that keeps routes apart may hold this one too; one that does not has said all there is to know.
    if (!this.#anyPartitionKey || route === undefined || route.answered || route.open === 0) return now
    return Math.max(now, this.#lastSendMs + answerMs)
  }

  #close(flight: Flight): Open | undefined {
    const { index } = flight as Open
    const open = this.#open[index]
    if (open !== flight) return undefined
    const last = this.#open.pop() ?? open
    if (last !== open) this.#open[index] = last
    last.index = index
    open.on.open -= 1
    return open
  }

  /** Books with a limit the calls that were sent before it was known to hold them, the answered one among them. */
  #adopt(limit: Limit, answered: Open): void {
    if (answered.limits.includes(limit)) return
    const unbooked = [answered]
    for (const open of this.#open) {
      const { on } = open
      const held = on === answered.on || (limit.parts.named.partitionKey ?? on.keys) === undefined
      if (held && !open.limits.includes(limit)) unbooked.push(open)
    }
    unbooked.sort((a, b) => a.sentAtMs - b.sentAtMs)
    for (const open of unbooked) {
      open.limits.push(limit)
      limit.sent(open, true)
    }
  }

  /** What a refusal states is added, because it may come from one layer of several; else the newest statement is all. */
  #setRoute(route: Route, told: readonly Statement[], refused: boolean): void {
    if (told.length === 0) return
    const keys = told.map(({ key }) => key)
    if (told.some(({ named }) => named.partitionKey !== undefined)) this.#anyPartitionKey = true
    route.keys = refused ? [...new Set([...keys, ...(route.keys ?? [])])].slice(0, 64) : keys
  }
}

/** A number from 0 up to, not including, 1, whatever the source of chance gives. */
function chance(drawn: number): number {
  return drawn >= 0 ? Math.min(drawn, 1 - Number.EPSILON) : 0
}

function sane(cost: number): number {
  return cost >= 0 && cost < never ? cost : 1
}
