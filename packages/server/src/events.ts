import type { BucketOwner } from './store.js'

/** Why a store could not be asked. */
export type FailureReason = 'timeout' | 'disconnected' | 'overloaded' | 'closed' | 'error'

/** What a limiter tells of itself, besides its decisions. */
export type LimiterEvent =
  /** Decisions are being made without the store. At once when it begins, then at most once a second. */
  | {
      readonly type: 'degraded'
      readonly mode: 'open' | 'closed'
      readonly reason: FailureReason
      /** Calls decided without the store since the last such event, this one included. */
      readonly calls: number
      readonly error: Error
    }
  /** The store answers again. */
  | { readonly type: 'recovered'; readonly afterMs: number }
  /** A stored state could not be read and was begun afresh. */
  | { readonly type: 'healed'; readonly policy: string; readonly owner: BucketOwner }
  /** A full memory store forgot a bucket. */
  | { readonly type: 'evicted'; readonly policy: string; readonly owner: BucketOwner }

/** Calls a listener so that its own fault harms nobody: what it throws, now or later, is passed over. */
export function emitTo(
  listener: ((event: LimiterEvent) => unknown) | undefined,
): (event: LimiterEvent) => void {
  if (listener === undefined) return () => {}
  return (event) => {
    try {
      // A listener watches; it must not be able to stop what it watches.
      Promise.resolve(listener(event)).catch(() => {})
    } catch {}
  }
}
