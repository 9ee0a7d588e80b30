import type { BodyFactory } from './body.js'
import type { CallOptions } from './call-options.js'
import type { KnownLimit } from './pace/pace.js'
import type { FetchInput } from './target.js'

/** What fetch takes as its second argument, and what a paced call may say about itself. */
export interface RatepactInit extends Omit<RequestInit, 'body'> {
  /** A function makes the body of each attempt anew, so that a stream can be sent again too. */
  body?: RequestInit['body'] | BodyFactory | undefined
  /** Never handed to the underlying fetch. */
  rateLimit?: CallOptions | undefined
}

/** What waits and what is under way, in all or in one partition. */
export interface QueueState {
  /** Calls that wait for their turn. */
  readonly waiting: number
  /** Calls that were sent and have no answer yet. */
  readonly inFlight: number
}

/** A client's queues right now. Partitions are shown by their origin and a number; those with nothing to do are left out. */
export interface QueueOverview extends QueueState {
  readonly partitions: readonly (QueueState & { readonly partition: string })[]
}

/** How a client is closed. */
export interface CloseOptions {
  /** Whether calls that wait are still made, as they would have been. @default false */
  readonly drain?: boolean | undefined
}

/** A fetch that keeps to the limits of whom it calls. */
export interface RatepactFetch {
  /**
   * Does what fetch does, once the limits allow it. A 429 is retried; one that cannot be recovered within
   * the limits given is returned.
   *
   * @throws RateLimitError when the call would wait for too long, or behind too many others.
   */
  (input: FetchInput, init?: RatepactInit): Promise<Response>
  /** What is known now of the limits that such a call meets. */
  limits(input: FetchInput, init?: RatepactInit): readonly KnownLimit[]
  /** What waits and what is under way now. */
  readonly queue: QueueOverview
  /**
   * Refuses further calls, and ends every wait with a RateLimitError unless they are to be drained. Calls in flight
   * end as they would.
   *
   * @returns a promise that is fulfilled when no call is under way any more
   */
  close(options?: CloseOptions): Promise<void>
}
