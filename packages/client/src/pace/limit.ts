import type { QuotaPolicy, ServiceLimit } from '@ratepact/contract'
import type { Gate, GateOptions } from './gate.js'
import type { Flight, KnownLimit } from './pace.js'
import type { RoundTrip } from './round-trip.js'

/** What the limits of one partition share. */
export interface Surroundings extends GateOptions {
  readonly roundTrip: RoundTrip
}

/** What an answer said about one limit, and how the call fared with it. */
export interface Reading {
  /** Absent where the answer states the policy alone. */
  readonly limit?: ServiceLimit
  /** The call was refused, by whichever limit. */
  readonly refused: boolean
  /** This limit is among those that refused it. */
  readonly refusedHere: boolean
}

/** `paced` counts requests, `slots` counts calls in progress, `signal` counts what a client cannot: it only stops. */
export type LimitKind = 'paced' | 'slots' | 'signal'

/** One limit that calls are held by. A call may go when every limit of its route, and every gate, lets it. */
export interface Limit {
  readonly policy: string
  readonly partitionKey: Uint8Array | undefined
  readonly kind: LimitKind
  /** Closed after refusals of this limit. */
  readonly gate: Gate
  /** When a call of this cost may go: at or before now, later, or Infinity while only an answer can tell. */
  nextMs(nowMs: number, cost: number, queued: number, believeMs?: number): number
  /** Takes what a policy promises, before an answer that states it is counted. */
  state(policy: QuotaPolicy): void
  /** Books a call that goes now, or, if `late`, one that was on its way before this limit was known. */
  sent(flight: Flight, late?: boolean): void
  /** The answer of a booked call, with what it says of this limit if it says anything. */
  answered(flight: Flight, nowMs: number, reading: Reading): void
  lost(flight: Flight, nowMs: number): void
  known(nowMs: number): KnownLimit
  /** Forgetting this limit would change nothing that matters. */
  isFresh(nowMs: number): boolean
}
