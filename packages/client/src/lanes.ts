import { Heap } from './heap.js'
import { goesFirst, Lane } from './lane.js'
import { limitKey } from './pace/limit-key.js'
import type { Pace } from './pace/pace.js'
import type { Waiter } from './queue.js'

/** Each waking looks at all lanes, so there are not more. */
const mostLanes = 100

/**
 * The waiting calls of one partition, in one lane for each route. Routes beyond the most that have a lane share
 * one, and do so until that is empty: so calls of one route never pass each other.
 */
export class Lanes {
  readonly #pace: Pace
  readonly #byRoute = new Map<string, Lane>()
  readonly #shared = new Lane()
  /** How many calls wait for each limit; undefined = to be counted. */
  #waiting: Map<string, number> | undefined
  #size = 0

  constructor(pace: Pace) {
    this.#pace = pace
  }

  /** How many calls wait in all. */
  get size(): number {
    return this.#size
  }

  add(waiter: Waiter): void {
    const lane = this.#laneFor(waiter.route)
    lane.push(waiter)
    this.#resized(lane, 1)
  }

  remove(waiter: Waiter): void {
    const own = this.#byRoute.get(waiter.route)
    const lane = own ?? this.#shared
    lane.remove(waiter)
    this.#resized(lane, -1)
    if (own?.size === 0) this.#byRoute.delete(waiter.route)
  }

  /** An answer may have told what holds which route. */
  changed(): void {
    this.#waiting = undefined
  }

  /** The lanes in which somebody waits, by the first of each. */
  inOrder(): Heap<Lane> {
    const order = new Heap<Lane>(({ first: a }, { first: b }) => {
      return a !== undefined && b !== undefined && goesFirst(a, b)
    })
    for (const lane of this.#byRoute.values()) order.push(lane)
    if (this.#shared.size > 0) order.push(this.#shared)
    return order
  }

  /** How many calls wait for what holds that route. */
  queued(route: string): number {
    const lane = this.#byRoute.get(route)
    if (this.#size === (lane ?? this.#shared).size) return this.#size
    const counts = this.#counts()
    const keys = lane?.keys ?? this.#keysOf(route)
    const most = Math.max(...keys.map((key) => counts.get(key) ?? 0))
    return keys.length === 0 ? this.#size : most + this.#shared.size
  }

  /** Whether some limit holds both routes. */
  share(route: string, other: string): boolean {
    this.#counts()
    const keys = this.#byRoute.get(other)?.keys ?? this.#keysOf(other)
    const own = this.#byRoute.get(route)?.keys ?? this.#keysOf(route)
    return route === other || own.some((key) => keys.includes(key))
  }

  #laneFor(route: string): Lane {
    const own = this.#byRoute.get(route)
    if (own !== undefined) return own
    if (this.#shared.size > 0 || this.#byRoute.size >= mostLanes) return this.#shared
    const lane = new Lane(this.#waiting && this.#keysOf(route))
    this.#byRoute.set(route, lane)
    return lane
  }

  #resized(lane: Lane, by: number): void {
    this.#size += by
    for (const key of lane.keys) this.#waiting?.set(key, (this.#waiting.get(key) ?? 0) + by)
    if (this.#size === 0) this.changed()
  }

  #counts(): Map<string, number> {
    if (this.#waiting !== undefined) return this.#waiting
    const counts = new Map<string, number>()
    for (const [route, lane] of this.#byRoute) {
      lane.keys = this.#keysOf(route)
      for (const key of lane.keys) counts.set(key, (counts.get(key) ?? 0) + lane.size)
    }
    this.#waiting = counts
    return counts
  }

  #keysOf(route: string): readonly string[] {
    return this.#pace.limits(route).map(({ policy, partitionKey }) => limitKey(policy, partitionKey))
  }
}
