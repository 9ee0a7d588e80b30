import type { Decision, Source } from './decision.js'
import type { BreakerState } from './failure/breaker.js'
import type { FailureMode } from './failure/watch.js'
import type { BucketOwner } from './store.js'

/**
 * Why a store could not be asked.
 * - `timeout`: no answer within the deadline
 * - `disconnected`: there is no connection, or it broke
 * - `unready`: it answers that it cannot serve now (Redis: LOADING, MASTERDOWN, CLUSTERDOWN, READONLY, OOM, BUSY, NOAUTH, …)
 * - `overloaded`: so many calls are unanswered that no more are made
 * - `closed`: it was closed
 * - `configuration`: it will not serve until somebody sets it up otherwise (Redis: NOPERM, CROSSSLOT, an unknown command, …)
 * - `error`: anything else
 */
export type FailureReason =
  | 'timeout'
  | 'disconnected'
  | 'unready'
  | 'overloaded'
  | 'closed'
  | 'configuration'
  | 'error'

/**
 * What a limiter tells of itself. All are limited, so that neither an outage nor a flood of calls floods who listens: a
 * few at once, then one of a kind a second.
 */
export type LimiterEvent =
  /** Decisions are being made without the store. At once when it begins, then at most once a second. */
  | {
      readonly type: 'degraded'
      readonly mode: FailureMode
      readonly reason: FailureReason
      /** Calls decided without the store since the last such event, this one included. */
      readonly calls: number
      readonly error: Error
    }
  /** The store answers again. */
  | { readonly type: 'recovered'; readonly afterMs: number }
  /** The store is left alone after repeated failures (`open`), but for one call now and then; or asked again (`closed`). */
  | {
      readonly type: 'breaker'
      readonly state: BreakerState
      /** Which part of the store, where it has several (`Store.placeOf`). */
      readonly place?: string
      /** When the next call may find out whether it is back. Of `open`. */
      readonly retryInMs?: number
      /** What it failed with last. Of `open`. */
      readonly error?: Error
    }
  /** The store refuses to serve until it is set up otherwise. At most once a minute for each such fault. */
  | {
      readonly type: 'config-fault'
      readonly mode: FailureMode
      readonly problem: string
      readonly remedy: string
      /** Calls decided without the store for this fault since the last such event, this one included. */
      readonly calls: number
      readonly error: Error
    }
  /** A stored state could not be read and was begun afresh. */
  | {
      readonly type: 'healed'
      readonly policy: string
      readonly owner: BucketOwner
      /** How often it has happened since it was last told, this time included. */
      readonly times: number
    }
  /** Units that this process had taken ahead are known to the store no more: the bucket was reset or lost, or the process stood still. */
  | {
      readonly type: 'lease-lost'
      readonly policy: string
      readonly owner: BucketOwner
      readonly units: number
      /** How often it has happened since it was last told, this time included. */
      readonly times: number
    }
  /**
   * A shadow or a candidate would have refused calls. At once when it begins, then at most once a second for each.
   */
  | {
      readonly type: 'shadow-refused'
      readonly group: 'shadow' | 'candidate'
      /** Which policy, of a shadow. */
      readonly policy?: string
      /** Which policies would have refused the last of them. */
      readonly violated: readonly string[]
      /** The plan of the last of them, where there are plans. */
      readonly plan?: string
      /** Calls that it would have refused since the last such event, this one included. */
      readonly calls: number
      /** How many of them passed: what would change for callers. */
      readonly passed: number
    }
  /** A full memory store forgot a bucket. */
  | {
      readonly type: 'evicted'
      readonly policy: string
      readonly owner: BucketOwner
      /** How often it has happened since it was last told, this time included. */
      readonly times: number
    }
  /** A call was refused for its policies. Who called is not told; `onDecision` tells of each. */
  | {
      readonly type: 'refused'
      readonly violated: readonly string[]
      readonly source: Source
      /** How often it has happened since it was last told, this time included. */
      readonly times: number
    }

/** A decision, with what it cost. */
export interface DecisionEvent {
  readonly type: 'decision'
  readonly kind: 'consume' | 'peek'
  readonly decision: Decision
  /** What was called, where the call said so; adapters always do: the method and the route's pattern. */
  readonly scope?: string
  /** How long it took, in ms. */
  readonly ms: number
}
