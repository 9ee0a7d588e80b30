import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'
import type { Lane } from './lane.js'
import { Lanes, putBack } from './lanes.js'
import type { Flight, Pace } from './pace/pace.js'
import { never } from './pace/quota.js'
import type { Sent, Turn, Waiter } from './turn.js'

/** A timer may wake this late; what could go in time is not refused for it. */
const lateWakeMs = 100

/**
 * The calls of one partition that wait for its pace: those of each route in a lane, in order, the first holding
 * back the rest; one timer for all. A call that cannot go before its deadline is refused as soon as that is known.
 */
export class Queue {
  readonly #pace: Pace
  readonly #clock: Clock
  readonly #maxQueue: number
  readonly #held: ((first: Waiter | undefined) => void) | undefined
  readonly #alarm: Alarm
  readonly #lanes: Lanes
  #flying = 0
  readonly #streaming = new Set<Flight>()
  #closed = false

  /** @param held is told who waits first, if anybody does, whenever that was looked at */
  constructor(pace: Pace, clock: Clock, maxQueue: number, held?: (first: Waiter | undefined) => void) {
    this.#pace = pace
    this.#clock = clock
    this.#maxQueue = maxQueue
    this.#held = held
    this.#lanes = new Lanes(pace)
    this.#alarm = new Alarm(clock, () => this.#pump(true))
  }

  /** How many calls wait. */
  get size(): number {
    return this.#lanes.size
  }

  /** How many answers are to come. */
  get flying(): number {
    return this.#flying
  }

  /** How many answers, and ends of those that a limit counts, are to come that may change what is known. */
  get coming(): number {
    return this.#flying + this.#streaming.size
  }

  /** The call that goes next. */
  get first(): Waiter | undefined {
    return this.#lanes.first
  }

  /**
   * Milliseconds until the pace would let such a call go, were it first; infinite = after an answer in flight.
   * A stated wait counts to its end, however much of it is believed.
   */
  waitMs(route: string, cost: number): number {
    return this.#toldMs(route, cost, 1) - this.#clock.now()
  }

  /** Books a call that nothing holds back; undefined when it has to claim a turn. Whoever ends the flight calls `landed`. */
  pass(route: string, cost: number, believeMs: number, place: number | undefined): Sent | undefined {
    if (this.#closed || this.size > 0) return undefined
    if (this.#pace.next(route, cost, 1, believeMs) > this.#clock.now()) return undefined
    return this.#send(route, cost, place ?? this.#lanes.fair.now)
  }

  /**
   * Waits for a call's turn, and books it then. Whoever ends the flight calls `landed`. Throws or rejects with what
   * `refuse` makes, or with the signal's reason.
   */
  take(turn: Turn): Sent | Promise<Sent> {
    if (this.#closed) throw turn.refuse(never, 'closed')
    const { fair } = this.#lanes
    const { key, cost, route } = turn
    const waiter: Waiter = { ...turn, place: fair.place(key, cost, turn.place) }
    this.#add(waiter)
    const { ended } = waiter
    if (ended instanceof Error) throw ended
    if (ended !== undefined) return ended
    if (turn.place === undefined && this.size > this.#maxQueue) {
      this.#leave(waiter)
      throw turn.refuse(this.waitMs(route, cost), 'queue-full')
    }
    const waiting = this.#wait(waiter)
    // Whoever is told of it may abort the call or close the client, so it waits by now.
    this.#held?.(this.first)
    return waiting
  }

  /** A flight has ended, and the pace knows. */
  landed(route: string): void {
    this.#flying -= 1
    if (this.size === 0) return
    this.#lanes.answered(route)
    this.#pump(true)
  }

  /** The body of an answer is on its way, and a limit counts it until then at the latest; 0 = it has ended. */
  keep(flight: Flight, untilMs: number): void {
    this.#pace.keep(flight, untilMs)
    if (untilMs > 0) this.#streaming.add(flight)
    else this.#streaming.delete(flight)
    if (this.size > 0) this.#pump(false)
  }

  /** Ends every wait, now and from now on. Calls in flight are left alone. */
  close(): void {
    this.#closed = true
    for (let { first } = this; first !== undefined; first = this.first) {
      this.#end(first, first.refuse(never, 'closed'))
    }
    this.#alarm.clear()
  }

  /** One that is not the first of its lane changes nothing for the others. */
  #add(waiter: Waiter): void {
    const lane = this.#lanes.add(waiter)
    const { first = waiter } = lane.order
    if (first === waiter) this.#pump(false)
    else if (!this.#refuseLate(lane, waiter, this.#nextMs(first))) this.#alarm.setBefore(waiter.deadlineMs)
  }

  #wait(waiter: Waiter): Promise<Sent> {
    const { signal } = waiter
    return new Promise((resolve, reject) => {
      const release = signal?.listen(() => {
        this.#leave(waiter)
        reject(signal.reason)
      })
      waiter.settle = (ended) => {
        release?.()
        if (ended instanceof Error) reject(ended)
        else resolve(ended)
      }
    })
  }

  #leave(waiter: Waiter): void {
    const wasFirst = this.#remove(waiter, false)
    if (wasFirst) this.#pump(false)
  }

  /**
   * Looks at everything anew: sends who may go, in order, refuses who never can, sets the timer for the rest.
   * A lane that must wait is asked once: whoever goes after it leaves no more for it.
   */
  #pump(tell: boolean): void {
    const order = this.#lanes.inOrder()
    const held: Waiter[] = []
    let wakeMs = never
    for (let lane = order.shift(); lane !== undefined; lane = order.shift()) {
      const atMs = this.#serve(lane, held)
      const { first } = lane.order
      if (first === undefined) continue
      if (atMs === undefined) putBack(order, lane)
      else {
        held.push(first)
        wakeMs = Math.min(wakeMs, atMs)
      }
    }
    if (this.size === 0) this.#alarm.clear()
    else this.#alarm.set(wakeMs)
    if (tell || this.size === 0) this.#held?.(this.first)
  }

  /** @returns undefined when a call left the lane, else when to look at it again */
  #serve(lane: Lane, held: readonly Waiter[]): number | undefined {
    const { first, last } = lane.order
    const soonest = lane.deadlines.first
    if (first === undefined || last === undefined || soonest === undefined) return undefined
    const atMs = this.#firstMs(first)
    if (this.#refuseLate(lane, soonest, atMs) || this.#refuseLate(lane, last, atMs)) return undefined
    const nowMs = this.#clock.now()
    const keptMs = atMs > nowMs ? atMs : this.#keptMs(first, held)
    if (keptMs > nowMs) return Math.min(keptMs, soonest.deadlineMs)
    this.#end(first, this.#send(first.route, first.cost, first.place))
    return undefined
  }

  /** @returns whether it was refused, because it cannot go in time */
  #refuseLate(lane: Lane, waiter: Waiter, firstMs: number): boolean {
    // Read after the pace has read it, or its "now" would lie ahead of this one.
    const nowMs = this.#clock.now()
    const over = waiter.deadlineMs + (firstMs > nowMs ? 0 : lateWakeMs) <= nowMs
    // While an answer is to come the first one's instant is a guess: it may yet be sooner.
    const soonestMs = this.coming > 0 ? nowMs : firstMs
    const slackMs = Math.max(waiter.deadlineMs, nowMs) - soonestMs
    const behindMs = this.#lanes.behindMs(waiter, lane, slackMs)
    if (!over && behindMs <= slackMs) return false
    const { first = waiter } = lane.order
    const toldMs = this.#toldMs(first.route, first.cost, 0) - nowMs
    this.#end(waiter, waiter.refuse(Math.max(0, toldMs) + behindMs))
    return true
  }

  /** Until when a call is kept from taking what one before it, on another route, needs more of and waits for. */
  #keptMs({ route, cost, believeMs }: Waiter, held: readonly Waiter[]): number {
    let most = cost
    for (const other of held) {
      if (other.cost > most && this.#lanes.share(route, other.route)) most = other.cost
    }
    return most === cost ? 0 : this.#nextMs({ route, cost: most, believeMs })
  }

  /** What the pace keeps for callers who come late, while many wait, it does not keep from who cannot wait for it. */
  #firstMs(first: Waiter): number {
    const atMs = this.#nextMs(first)
    return atMs > first.deadlineMs ? this.#pace.next(first.route, first.cost, 1, first.believeMs) : atMs
  }

  /** When the pace lets it go. */
  #nextMs({ route, cost, believeMs }: Pick<Turn, 'route' | 'cost' | 'believeMs'>): number {
    return this.#pace.next(route, cost, this.#lanes.queued(route), believeMs)
  }

  /** The same with so many in its route's queue beside those that wait, to the wait's end as far as it is known. */
  #toldMs(route: string, cost: number, beside: number): number {
    return this.#pace.next(route, cost, this.#lanes.queued(route) + beside, never, never)
  }

  #send(route: string, cost: number, place: number): Sent {
    this.#flying += 1
    return { flight: this.#pace.send(route, cost), place }
  }

  #end(waiter: Waiter, ended: Sent | Error): void {
    this.#remove(waiter, !(ended instanceof Error))
    waiter.ended = ended
    waiter.settle?.(ended)
  }

  /** @returns whether it was the first of its lane */
  #remove(waiter: Waiter, served: boolean): boolean {
    const { key, place, cost } = waiter
    this.#lanes.fair.left(key, place, cost, served)
    return this.#lanes.remove(waiter)
  }
}
