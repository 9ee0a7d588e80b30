import type { RateLimitReason } from './errors.js'
import type { Flight } from './pace/pace.js'
import type { StopSignal } from './stop-signal.js'

/** A call's claim to be sent. */
export interface Turn {
  readonly route: string
  readonly cost: number
  /** Higher goes first; among equals keys take turns, and calls of one key go in order of arrival. */
  readonly priority: number
  readonly key: string
  readonly arrival: number
  /** The instant after which the call is not worth sending any more. */
  readonly deadlineMs: number
  /** For how long it believes a stated wait, if for longer than all do. */
  readonly believeMs: number
  /** Where it stood when it was sent before: it comes before all that stand later, and is turned away from no queue. */
  readonly place: number | undefined
  readonly signal: StopSignal | undefined
  /**
   * Makes the error of a call that cannot be sent.
   * @param waitMs until it could go; may be infinite
   * @param reason by default what bounds its own wait
   */
  readonly refuse: (waitMs: number, reason?: RateLimitReason) => Error
}

/** A flight, and where its call stood. */
export interface Sent {
  readonly flight: Flight
  readonly place: number
}

/** A call that waits. What comes of it is told to whoever listens, once somebody does. */
export interface Waiter extends Turn {
  readonly place: number
  /** What its wait ended with. */
  ended?: Sent | Error
  settle?: (ended: Sent | Error) => void
}
