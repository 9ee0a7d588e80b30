import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'
import { Heap } from './heap.js'
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

interface Waiter extends Turn {
  readonly resolve: (flight: Flight) => void
  readonly reject: (reason: unknown) => void
  /** Stops listening to the signal. */
  readonly release: (() => void) | undefined
}

/**
 * The calls of one partition that wait for its pace: in order, the first holding back the rest, one
 * timer for all of them. A call that cannot go before its deadline is refused as soon as that is known.
 */
export class Queue {
  readonly #pace: Pace
  readonly #clock: Clock
  readonly #maxQueue: number
  readonly #alarm: Alarm
  readonly #order: Heap<Waiter> = new Heap(goesFirst)
  readonly #deadlines: Heap<Waiter> = new Heap((a, b) => a.deadlineMs < b.deadlineMs)
  #flying = 0
  #closed = false

  constructor(pace: Pace, clock: Clock, maxQueue: number) {
    this.#pace = pace
    this.#clock = clock
    this.#maxQueue = maxQueue
    this.#alarm = new Alarm(clock, () => this.#pump())
  }

  /** How many calls wait. */
  get size(): number {
    return this.#order.size
  }

  /** Whether an answer is to come that may change what is known. */
  get flying(): boolean {
    return this.#flying > 0
  }

  /** Milliseconds until the pace would let such a call go, were it first; infinite = after an answer in flight. */
  waitMs(route: string, cost: number): number {
    return this.#pace.next(route, cost, this.size + 1) - this.#clock.now()
  }

  /**
   * Books the call at once when nothing holds it back, else waits for its turn. Whoever ends the flight
   * calls `landed`. Throws or rejects with what `refuse` makes, or with the signal's reason.
   */
  take(turn: Turn): Flight | Promise<Flight> {
    if (this.#closed) throw turn.refuse({ why: 'closed', waitMs: Number.POSITIVE_INFINITY })
    if (this.size === 0 && !(this.waitMs(turn.route, turn.cost) > 0)) return this.#send(turn)
    if (!turn.again && this.size >= this.#maxQueue) {
      throw turn.refuse({ why: 'full', waitMs: this.waitMs(turn.route, turn.cost) })
    }
    return new Promise((resolve, reject) => {
      const release = turn.signal?.listen(() => {
        this.#leave(waiter)
        reject(turn.signal?.reason)
        this.#pump()
      })
      const waiter: Waiter = { ...turn, resolve, reject, release }
      this.#order.push(waiter)
      this.#deadlines.push(waiter)
      this.#pump()
    })
  }

  /** A flight has ended, and the pace knows. */
  landed(): void {
    this.#flying -= 1
    this.#pump()
  }

  /** Looks at everything anew: sends who may go, one by one, refuses who never can, sets the timer for the rest. */
  #pump(): void {
    while (this.#step());
  }

  /** @returns whether a call left the queue, so that all has to be looked at again */
  #step(): boolean {
    const first = this.#order.peek()
    const soonest = this.#deadlines.peek()
    if (first === undefined || soonest === undefined) {
      this.#alarm.clear()
      return false
    }
    const at = this.#pace.next(first.route, first.cost, this.size)
    // Read after the pace has read it, or its "now" would lie ahead of this one.
    const now = this.#clock.now()
    if (!(at > now)) {
      this.#leave(first)
      first.resolve(this.#send(first))
      return true
    }
    // While an answer is to come the instant is a guess: it may yet be sooner.
    const hopeless = !this.flying && soonest.deadlineMs < at
    if (hopeless || soonest.deadlineMs <= now) {
      this.#leave(soonest)
      soonest.reject(soonest.refuse({ why: 'late', waitMs: at - now }))
      return true
    }
    this.#alarm.set(Math.min(at, soonest.deadlineMs))
    return false
  }

  /** Ends every wait, now and from now on. Calls in flight are left alone. */
  close(): void {
    this.#closed = true
    for (let first = this.#order.peek(); first !== undefined; first = this.#order.peek()) {
      this.#leave(first)
      first.reject(first.refuse({ why: 'closed', waitMs: Number.POSITIVE_INFINITY }))
    }
    this.#alarm.clear()
  }

  #send({ route, cost }: Turn): Flight {
    this.#flying += 1
    return this.#pace.send(route, cost)
  }

  #leave(waiter: Waiter): void {
    waiter.release?.()
    this.#order.remove(waiter)
    this.#deadlines.remove(waiter)
  }
}

function goesFirst(a: Waiter, b: Waiter): boolean {
  return a.priority === b.priority ? a.arrival < b.arrival : a.priority > b.priority
}
