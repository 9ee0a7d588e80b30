import { Fair } from './fair.js'
import { goesFirst, type Holding, inOrder, Lane } from './lane.js'
import { limitKey } from './pace/limit-key.js'
import type { KnownLimit, Pace } from './pace/pace.js'
import { never } from './pace/quota.js'
import type { Sorted } from './sorted.js'
import type { Waiter } from './turn.js'

/** Each waking looks at all lanes, so there are not more. */
const mostLanes = 100

/**
 * The waiting calls of one partition, in one lane for each route. Routes beyond the most that have a lane share
 * one, and do so until that is empty: so calls of one route never pass each other.
 */
export class Lanes {
  readonly fair: Fair = new Fair()
  readonly #pace: Pace
  readonly #byRoute = new Map<string, Lane>()
  readonly #shared = new Lane()
  readonly #all: Sorted<Waiter> = inOrder()
  /** How many calls wait for each limit; undefined = to be counted. */
  #waiting: Map<string, number> | undefined
  /** Answers since then. */
  #answers: number = never

  constructor(pace: Pace) {
    this.#pace = pace
  }

  /** How many calls wait in all. */
  get size(): number {
    return this.#all.size
  }

  /** The call that goes next. */
  get first(): Waiter | undefined {
    return this.#all.first
  }

  add(waiter: Waiter): Lane {
    const lane = this.#laneFor(waiter.route)
    lane.order.add(waiter)
    lane.deadlines.add(waiter)
    this.#all.add(waiter)
    this.#resized(lane, 1)
    return lane
  }

  /** @returns whether it was the first of its lane */
  remove(waiter: Waiter): boolean {
    const { route } = waiter
    const own = this.#byRoute.get(route)
    const lane = own ?? this.#shared
    const wasFirst = lane.order.first === waiter
    lane.order.remove(waiter)
    lane.deadlines.remove(waiter)
    this.#all.remove(waiter)
    this.#resized(lane, -1)
    if (own?.order.size === 0) this.#byRoute.delete(route)
    return wasFirst
  }

  /** An answer may have told what holds its route, and now and then what holds others too. */
  answered(route: string): void {
    this.#answers += 1
    const lane = this.#byRoute.get(route)
    const holdsOther =
      lane !== undefined && String(keys(this.#holdingOf(route))) !== String(keys(lane.holding))
    if (holdsOther || this.#answers > this.#byRoute.size) this.#waiting = undefined
  }

  /** The lanes in which somebody waits, by the first of each. */
  inOrder(): Lane[] {
    const order = [...this.#byRoute.values()].sort(byFirst)
    if (this.#shared.order.size > 0) putBack(order, this.#shared)
    return order
  }

  /** How many calls wait for what holds that route. */
  queued(route: string): number {
    const lane = this.#byRoute.get(route)
    if (this.size === (lane ?? this.#shared).order.size) return this.size
    const counts = this.#counts()
    const own = keys(this.#holding(route))
    const most = Math.max(...own.map((key) => counts.get(key) ?? 0))
    return own.length === 0 ? this.size : most + this.#shared.order.size
  }

  /** Whether some limit holds both routes. */
  share(route: string, other: string): boolean {
    this.#counts()
    const there = keys(this.#holding(other))
    return route === other || keys(this.#holding(route)).some((key) => there.includes(key))
  }

  /**
   * How much longer than it would if it were first a call has to wait at least, because of those before it. Of limits
   * that hold only some routes, only the calls in its own lane are sure to count.
   *
   * @param slackMs what is not longer need not be known exactly
   */
  behindMs(waiter: Waiter, { order }: Lane, slackMs: number): number {
    if (this.first === waiter) return 0
    const counts = this.#counts()
    const { route, cost } = waiter
    let known: readonly KnownLimit[] | undefined
    let most = 0
    for (const { key, quota, windowMs } of this.#byRoute.get(route)?.holding ?? []) {
      if (!((this.#all.weight / quota) * windowMs > slackMs)) continue
      const before = counts.get(key) === this.size ? this.#all : order
      const units = before.before(waiter)
      if (units === 0) continue
      const windows = (units + cost) / quota
      let ms = (Math.ceil(windows) - 1) * windowMs
      if (!(ms > most)) continue
      // A limit that is not exhausted may yet give a whole quota at once.
      known ??= this.#pace.limits(route)
      if (!known.some((limit) => limit.available < 1 && limitKey(limit) === key))
        ms = (windows - 1) * windowMs
      if (ms > most) most = ms
    }
    return most
  }

  #laneFor(route: string): Lane {
    const own = this.#byRoute.get(route)
    if (own !== undefined) return own
    if (this.#shared.order.size > 0 || this.#byRoute.size >= mostLanes) return this.#shared
    const lane = new Lane(this.#waiting && this.#holdingOf(route))
    this.#byRoute.set(route, lane)
    return lane
  }

  #resized(lane: Lane, by: number): void {
    for (const { key } of lane.holding) this.#waiting?.set(key, (this.#waiting.get(key) ?? 0) + by)
    if (this.size > 0) return
    this.#waiting = undefined
    this.fair.clear()
  }

  #counts(): Map<string, number> {
    if (this.#waiting !== undefined) return this.#waiting
    const counts = new Map<string, number>()
    for (const [route, lane] of this.#byRoute) {
      lane.holding = this.#holdingOf(route)
      for (const { key } of lane.holding) counts.set(key, (counts.get(key) ?? 0) + lane.order.size)
    }
    this.#waiting = counts
    this.#answers = 0
    return counts
  }

  /** What holds a route, as it was counted last where calls of it wait. */
  #holding(route: string): readonly Holding[] {
    return this.#byRoute.get(route)?.holding ?? this.#holdingOf(route)
  }

  #holdingOf(route: string): readonly Holding[] {
    return this.#pace.limits(route).map((limit) => {
      const { unit, quota = 1, windowSeconds = Number.NaN, ratePerSecond = 0 } = limit
      const windowMs =
        unit === 'requests' ? Math.min(windowSeconds, quota / ratePerSecond) * 1000 : Number.NaN
      return { key: limitKey(limit), quota, windowMs }
    })
  }
}

function keys(holding: readonly Holding[]): readonly string[] {
  return holding.map(({ key }) => key)
}

function byFirst({ order: { first: a } }: Lane, { order: { first: b } }: Lane): number {
  return a === undefined || b === undefined ? 0 : goesFirst(a, b)
}

/** Puts a lane where its first belongs now. */
export function putBack(lanes: Lane[], lane: Lane): void {
  const index = lanes.findIndex((other) => byFirst(lane, other) < 0)
  lanes.splice(index < 0 ? lanes.length : index, 0, lane)
}
