import type { Policy } from './policy.js'

/** Whose bucket: a kind of partition and its value, and the scope where the policy counts per scope. */
export interface BucketOwner {
  readonly kind: string
  readonly value: string
  readonly scope?: string
}

/** One policy to be asked about, for one owner. */
export interface Charge {
  readonly policy: Policy
  readonly owner: BucketOwner
  /** Units that must fit, and that are taken by `consume`. */
  readonly cost: number
}

/**
 * One thing to do, whole or not at all.
 * - `consume`: if every charge fits take them all, else take nothing.
 * - `peek`: say what `consume` would say; change nothing.
 * - `reset`: forget these buckets.
 */
export interface Op {
  readonly kind: 'consume' | 'peek' | 'reset'
  readonly charges: readonly Charge[]
}

/** What a store says of one op. */
export interface Reply {
  /** True when every charge fits (and, of `consume`, was taken). */
  readonly admitted: boolean
  /** Per charge, in order: the ticks in use before this op, by the store's clock. Empty after `reset`. */
  readonly levels: readonly number[]
  /** Positions of charges whose stored state could not be read and was begun afresh. */
  readonly healed: readonly number[]
}

/** Something that a store finds wrong with how it is set up. */
export interface Finding {
  readonly severity: 'error' | 'warning'
  readonly problem: string
  readonly remedy: string
}

/** Where buckets live. Memory and Redis are built in; anything that passes the conformance suite will do. */
export interface Store {
  readonly name: string
  /** How long one op may take, in ms, before the limiter goes on without it. @default 1000 */
  readonly timeoutMs?: number
  /**
   * Carries out ops, each by itself, and answers in their order; at once if it can. An op that is not begun
   * within `deadlineMs` must not be begun any more. Rejects when the store cannot say.
   */
  run(ops: readonly Op[], deadlineMs: number): readonly Reply[] | Promise<readonly Reply[]>
  /** Told by the limiter where to report what nobody waits for. */
  observe?(report: (event: StoreEvent) => void): void
  check?(): Promise<readonly Finding[]>
  close(): Promise<void>
}

/** Something a store did on its own. */
export type StoreEvent =
  | { readonly type: 'evicted'; readonly policy: string; readonly owner: BucketOwner }
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected'; readonly error?: Error }
