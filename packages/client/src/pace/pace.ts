import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'

/** What an answer said, already read from whatever dialect it spoke. */
export interface Answer {
  /** `refused` when the server did not do the work because of a limit, else `accepted`. */
  readonly outcome: 'accepted' | 'refused'
  readonly limits: readonly ServiceLimit[]
  readonly policies: readonly QuotaPolicy[]
  /** It states nothing, though it might: the service did the work and answered itself. */
  readonly silent?: boolean
  /** How long the server asked to be left alone, counted from the answer's arrival. */
  readonly retryAfterMs?: number
}

/** One request on its way. Made by `send`, given back once to `answered` or `lost`. */
export interface Flight {
  readonly route: string
  readonly cost: number
  readonly sentAtMs: number
}

/** What is known of one limit right now, for people to look at. */
export interface KnownLimit {
  readonly policy: string
  readonly partitionKey?: Uint8Array
  readonly unit: string
  readonly quota?: number
  readonly windowSeconds?: number
  /** Units that come back per second, where the server states that it is not the quota over its window. */
  readonly ratePerSecond?: number
  /** Units that may still be used now, by the model: stated by the server, less what was sent since, plus what came back. */
  readonly available: number
  /** Seconds until the next call may go; 0 = now, Infinity = once an answer in flight is there. */
  readonly waitSeconds: number
  /** Seconds in which no more than `available` may be used (`t`), by what was stated last and is not over. */
  readonly effectiveWindowSeconds?: number
}

/**
 * Decides when the next call of one partition may start. Pure: time and chance are handed in, and
 * nothing here waits. Whoever owns it asks `next`, waits until then, asks again, and calls `send`.
 */
export interface Pace {
  /**
   * The instant (on the clock handed in) at which a call may go: at or before now = go; Infinity = not before an
   * answer in flight has arrived.
   * @param queued how many calls wait for the same limits, this one included
   * @param believeMs for how long this call believes a stated wait, if for longer than all do; Infinity = to its end
   * @param answerMs how long an answer in flight is waited for before one more call may go; Infinity tells what is known
   */
  next(route: string, cost: number, queued: number, believeMs?: number, answerMs?: number): number
  /** Books a call that goes now. */
  send(route: string, cost: number): Flight
  /** @returns whether a limit counts the call until its answer's body has ended too: `keep` then tells of that */
  answered(flight: Flight, answer: Answer): boolean
  /** The body of its answer is on its way: limits on calls in progress count it until then, or until told otherwise. */
  keep(flight: Flight, untilMs: number): void
  /** The call ended without an answer (network error, abort, timeout): whether it was counted is unknown. */
  lost(flight: Flight): void
  /** What is known, for all routes or for one. */
  limits(route?: string): readonly KnownLimit[]
  /** True when nothing is in flight and forgetting everything would change no decision that matters. */
  idle(): boolean
}
