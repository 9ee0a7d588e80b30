import type { Reading } from './algorithm/meter.js'
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

/** A charge made before, to be made smaller or larger. */
export interface Change {
  readonly policy: Policy
  readonly owner: BucketOwner
  /** Units to take more; negative: to give back. */
  readonly units: number
  /** Where the charge was made: the end or start of its window, the instant of the call (µs); 0 for a bucket. */
  readonly mark: number
}

/** One thing to do, whole or not at all. */
export type Op =
  /** If every charge fits take them all, else take nothing. Places are taken in the name of `lease`. */
  | { readonly kind: 'consume'; readonly charges: readonly Charge[]; readonly lease: string }
  /** Say what `consume` would say; change nothing. */
  | { readonly kind: 'peek'; readonly charges: readonly Charge[] }
  /** Forget these buckets. */
  | { readonly kind: 'reset'; readonly charges: readonly Charge[] }
  /** Make charges smaller or larger where they still count; what has rolled away is left alone. */
  | { readonly kind: 'adjust'; readonly changes: readonly Change[] }
  /** End the lease of these charges, or make it last anew. */
  | { readonly kind: 'release' | 'renew'; readonly charges: readonly Charge[]; readonly lease: string }

/** What a store says of one op. */
export interface Reply {
  /** The instant of the decision by the store's clock, in µs. */
  readonly nowUs: number
  /** Of `consume` and `peek`: whether every charge fits. Of the others: whether anything was there to be changed. */
  readonly admitted: boolean
  /** Of `consume` and `peek`: what was read of each charge before it was made, in order. Else empty. */
  readonly readings: readonly Reading[]
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
