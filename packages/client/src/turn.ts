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
  /** Makes the error that the call ends with when it cannot be sent. */
  readonly refuse: (refusal: QueueRefusal) => Error
}

/** Why a call will not be sent, and how long until it could go (may be infinite). */
export interface QueueRefusal {
  readonly why: 'full' | 'late' | 'closed'
  readonly waitMs: number
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
