import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'
import type { Lane } from './lane.js'
import { Lanes } from './lanes.js'
import type { Flight, Pace } from './pace/pace.js'
import type { StopSignal } from './stop-signal.js'

/** A call's claim to be sent. */
export interface Turn {
  readonly route: string
  readonly cost: number
  /** Higher goes first; among equals the earlier arrival. */
  readonly priority: number
  /** Position by arrival. A retry keeps the one it had, and so comes before all that arrived later. */
  readonly arrival: number
  /** The instant after which the call is not worth sending any more. */
  readonly deadlineMs: number
  /** For how long it believes a stated wait, if for longer than all do. */
  readonly believeMs: number
  /** Whether it was sent before: a retry is never turned away from a full queue. */
  readonly again: boolean
  readonly signal: StopSignal | undefined
  /** Makes the error that the call ends with when it cannot be sent. */
  readonly refuse: (refusal: QueueRefusal) => Error
}

/** Why a call will not be sent, and how long until the first in the queue could go (may be infinite). */
export interface QueueRefusal {
  readonly why: 'full' | 'late' | 'closed'
  readonly waitMs: number
}

/** A call that waits. What comes of it is told to whoever listens, once somebody does. */
export interface Waiter extends Turn {
  /** The flight or the error that its wait ended with. */
  ended?: Flight | Error
  settle?: (ended: Flight | Error) => void
}

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
  readonly #alarm: Alarm
  readonly #lanes: Lanes
  #flying = 0
  #closed = false

  constructor(pace: Pace, clock: Clock, maxQueue: number) {
    this.#pace = pace
    this.#clock = clock
    this.#maxQueue = maxQueue
    this.#lanes = new Lanes(pace)
    this.#alarm = new Alarm(clock, () => this.#pump())
  }

  /** How many calls wait. */
  get size(): number {
    return this.#lanes.size
  }

  /** Whether an answer is to come that may change what is known. */
  get flying(): boolean {
    return this.#flying > 0
  }

  /**
   * Milliseconds until the pace would let such a call go, were it first; infinite = after an answer in flight.
   * A stated wait counts to its end, however much of it is believed.
   */
  waitMs(route: string, cost: number): number {
    return this.#nextMs({ route, cost }, 1, Number.POSITIVE_INFINITY) - this.#clock.now()
  }

  /**
   * Books the call at once when nothing holds it back, else waits for its turn. Whoever ends the flight
   * calls `landed`. Throws or rejects with what `refuse` makes, or with the signal's reason.
   */
  take(turn: Turn): Flight | Promise<Flight> {
    if (this.#closed) throw turn.refuse({ why: 'closed', waitMs: Number.POSITIVE_INFINITY })
    if (this.size === 0 && !(this.#nextMs(turn, 1, turn.believeMs) > this.#clock.now()))
      return this.#send(turn)
    const waiter: Waiter = { ...turn }
    this.#lanes.add(waiter)
    this.#pump()
    if (waiter.ended instanceof Error) throw waiter.ended
    if (waiter.ended !== undefined) return waiter.ended
    if (!turn.again && this.size > this.#maxQueue) {
      this.#lanes.remove(waiter)
      this.#pump()
      throw turn.refuse({ why: 'full', waitMs: this.waitMs(turn.route, turn.cost) })
    }
    return this.#wait(waiter)
  }

  /** A flight has ended, and the pace knows. */
  landed(): void {
    this.#flying -= 1
    this.#lanes.changed()
    this.#pump()
  }

  /** Ends every wait, now and from now on. Calls in flight are left alone. */
  close(): void {
    this.#closed = true
    const order = this.#lanes.inOrder()
    for (let lane = order.peek(); lane !== undefined; lane = order.peek()) {
      order.remove(lane)
      for (let first = lane.first; first !== undefined; first = lane.first) {
        this.#end(first, first.refuse({ why: 'closed', waitMs: Number.POSITIVE_INFINITY }))
      }
    }
    this.#alarm.clear()
  }

  #wait(waiter: Waiter): Promise<Flight> {
    const { signal } = waiter
    return new Promise((resolve, reject) => {
      const release = signal?.listen(() => {
        this.#lanes.remove(waiter)
        reject(signal.reason)
        this.#pump()
      })
      waiter.settle = (ended) => {
        release?.()
        if (ended instanceof Error) reject(ended)
        else resolve(ended)
      }
    })
  }

  /**
   * Looks at everything anew: sends who may go, in order, refuses who never can, sets the timer for the rest.
   * A lane that must wait is asked once: whoever goes after it leaves no more for it.
   */
  #pump(): void {
    const order = this.#lanes.inOrder()
    const held: Waiter[] = []
    let wakeMs = Number.POSITIVE_INFINITY
    for (let lane = order.peek(); lane !== undefined; lane = order.peek()) {
      order.remove(lane)
      const atMs = this.#serve(lane, held)
      if (lane.first === undefined) continue
      if (atMs === undefined) order.push(lane)
      else {
        held.push(lane.first)
        wakeMs = Math.min(wakeMs, atMs)
      }
    }
    if (this.size === 0) this.#alarm.clear()
    else this.#alarm.set(wakeMs)
  }

  /** @returns undefined when a call left the lane, else when to look at it again */
  #serve({ first, soonest }: Lane, held: readonly Waiter[]): number | undefined {
    if (first === undefined || soonest === undefined) return undefined
    const atMs = this.#nextMs(first, 0, first.believeMs)
    // Read after the pace has read it, or its "now" would lie ahead of this one.
    const nowMs = this.#clock.now()
    // While an answer is to come the instant is a guess: it may yet be sooner.
    const hopeless = !this.flying && soonest.deadlineMs < atMs
    const over = soonest.deadlineMs + (atMs > nowMs ? 0 : lateWakeMs) <= nowMs
    if (hopeless || over) {
      const toldMs = this.#nextMs(first, 0, Number.POSITIVE_INFINITY)
      this.#end(soonest, soonest.refuse({ why: 'late', waitMs: Math.max(0, toldMs - nowMs) }))
      return undefined
    }
    const keptMs = atMs > nowMs ? atMs : this.#keptMs(first, held)
    if (keptMs > nowMs) return Math.min(keptMs, soonest.deadlineMs)
    this.#end(first, this.#send(first))
    return undefined
  }

  /** Until when a call is kept from taking what one before it, on another route, needs more of and waits for. */
  #keptMs({ route, cost, believeMs }: Waiter, held: readonly Waiter[]): number {
    let most = cost
    for (const other of held) {
      if (other.cost > most && this.#lanes.share(route, other.route)) most = other.cost
    }
    return most === cost ? 0 : this.#nextMs({ route, cost: most }, 0, believeMs)
  }

  /** When the pace lets it go, with so many in its route's queue beside those that wait. */
  #nextMs({ route, cost }: Pick<Turn, 'route' | 'cost'>, beside: number, believeMs: number): number {
    return this.#pace.next(route, cost, this.#lanes.queued(route) + beside, believeMs)
  }

  #send({ route, cost }: Turn): Flight {
    this.#flying += 1
    return this.#pace.send(route, cost)
  }

  #end(waiter: Waiter, ended: Flight | Error): void {
    this.#lanes.remove(waiter)
    waiter.ended = ended
    waiter.settle?.(ended)
  }
}
