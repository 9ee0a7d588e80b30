import type { Reading } from './algorithm/meter.js'
import type { Policy } from './policy.js'

/** Whose bucket: a kind of partition and its value, and the scope where the policy counts per scope. */
export interface BucketOwner {
  readonly kind: string
  readonly value: string
  readonly scope?: string
  /** Which part of the partition, where it is cut into shards. */
  readonly shard?: number
  /** With whom it is kept, where the store keeps some together (`Store.slotBy`): it is counted within that one alone. */
  readonly home?: { readonly kind: string; readonly value: string }
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
  /** Where the charge was made: the end or start of its window, the instant of the call (µs). */
  readonly mark: number
  /** Of a bucket: ticks in use when the charge had been made. What has flowed back since cannot be given back. */
  readonly top: number
}

/**
 * Units of a token bucket or fixed window that a process takes ahead of the calls that will use them, and its account
 * of those that it took before.
 */
export interface Advance {
  readonly policy: Policy
  readonly owner: BucketOwner
  /** What it was given before, as it was told: until when, and how many units; of those, how many have been used. */
  readonly held: { readonly endsUs: number; readonly units: number; readonly spent: number }
  /** Whether it keeps those that have not been used; else they are given back. */
  readonly keep: boolean
  /** Units to take besides. */
  readonly want: number
  /** No more of what is free is given than one part in so many. */
  readonly share: number
  /** How long at least (µs) units of a bucket are to be good for; those of a window are until it ends. */
  readonly lastsUs: number
}

/** Charges that are only tried: judged for themselves, and of no effect on those of the op. */
export interface Trial {
  readonly charges: readonly Charge[]
  /**
   * When they are made, if all of them fit: `beside` the op's own, where those are made; or `instead` of them, whatever
   * becomes of those, unless the op repeats an admission. Places are taken only where the op's own charges are made:
   * a call that is refused does not run. Nothing is made for who is blocked.
   */
  readonly mode: 'beside' | 'instead'
}

/** An id under which an admission is remembered: the same call, sent again, is not charged again. */
export interface Once {
  readonly owner: BucketOwner
  readonly id: string
  /** For how long. */
  readonly ms: number
}

/** Of a check that is to tell how many client processes share what it asks. */
export interface Crowd {
  /** Names the process that calls, from 1 to 2^48 - 1; 0 where it has no name. It is noted if the call is admitted. */
  readonly instance: number
}

/** One thing to do, whole or not at all. */
export type Op =
  /**
   * If nobody of `blocks` is blocked and every charge fits take them all, else take nothing. Places are taken in the
   * name of `lease`. With `once`, an admission of the same id is repeated instead of charged again, and what was made
   * `instead` under the same id is not made again.
   */
  | {
      readonly kind: 'consume'
      readonly charges: readonly Charge[]
      readonly lease: string
      readonly blocks: readonly BucketOwner[]
      readonly once?: Once
      readonly crowd?: Crowd
      readonly trials?: readonly Trial[]
    }
  /** Say what `consume` would say; change nothing. */
  | {
      readonly kind: 'peek'
      readonly charges: readonly Charge[]
      readonly blocks: readonly BucketOwner[]
      readonly once?: Once
      readonly crowd?: Crowd
      readonly trials?: readonly Trial[]
    }
  /** Block these for so long (ms), for ever, or no longer. */
  | {
      readonly kind: 'block'
      readonly blocks: readonly BucketOwner[]
      readonly ms: number | 'forever' | 'none'
    }
  /** Forget these buckets, and the admission under an id. */
  | { readonly kind: 'reset'; readonly charges: readonly Charge[]; readonly once?: Once }
  /** Make charges smaller or larger where they still count; what has rolled away is left alone. */
  | { readonly kind: 'adjust'; readonly changes: readonly Change[] }
  /**
   * Take units ahead and account for those taken before. They count as used in the store from then on, and do not flow
   * back before they have been accounted for or are good no more. Answered by one reading: units given, units kept,
   * until when (µs) all of them may be used, what is in use now as `consume` would read it, and 1 when what was held is
   * known no more.
   */
  | { readonly kind: 'advance'; readonly advance: Advance }
  /** End the lease of these charges, or make it last anew. */
  | { readonly kind: 'release' | 'renew'; readonly charges: readonly Charge[]; readonly lease: string }

/** What a store says of one op. */
export interface Reply {
  /** The instant of the decision by the store's clock, in µs. */
  readonly nowUs: number
  /** The same by the clock of each charge, where several servers were asked, each by its own. */
  readonly instants?: readonly number[]
  /** Of `consume` and `peek`: whether every charge fits, or was made before under the same id. Of the others: whether anything was there to be changed. */
  readonly admitted: boolean
  /** How long (µs) the longest block still lasts, Infinity for ever; 0 where nobody is blocked. */
  readonly blockedUs: number
  /** Whether an admission of the same id was repeated, and nothing charged. */
  readonly replayed: boolean
  /** Of `consume` and `peek`: what was read of each charge before it was made, in order. Of `advance`: see there. Else empty. */
  readonly readings: readonly Reading[]
  /**
   * Of a check with a crowd: how many client processes share the bucket of each charge, in order; 0 where that is not
   * known. A store that cannot count them leaves it out.
   */
  readonly instances?: readonly number[]
  /** Of each trial, in order; absent where there are none. */
  readonly trials?: readonly TrialReply[]
  /** Positions of charges, those of trials after the op's own, whose stored state could not be read and was begun afresh. */
  readonly healed: readonly number[]
}

/** What a store says of a trial. */
export interface TrialReply {
  /** What was read of each charge before it was made, in order. */
  readonly readings: readonly Reading[]
  /** The instant of each reading by the clock of its server, where that is not the op's own. */
  readonly instants?: readonly number[]
  /** Whether they were made. */
  readonly taken: boolean
}

/** Something that a store finds wrong with how it is set up. */
export interface Finding {
  /** What it is, in one word for programs: `eviction`, `version`, `permissions`, … */
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly problem: string
  readonly remedy: string
}

/** Where buckets live. Memory and Redis are built in; anything that passes the conformance suite will do. */
export interface Store {
  readonly name: string
  /** True when asking costs a trip, which a local answer to refused callers saves. @default false */
  readonly remote?: boolean
  /** Whether it carries out ops of kind `advance`; without it there are no leases. @default false */
  readonly advances?: boolean
  /** A kind of partition that every call must name: all that a call charges is kept with that partition. */
  readonly slotBy?: string
  /** How long one op may take, in ms, before the limiter goes on without it. @default 1000 */
  readonly timeoutMs?: number
  /**
   * Carries out ops, each by itself, and answers in their order; at once if it can. An op that is not begun
   * within `deadlineMs` must not be begun any more. Rejects when the store cannot say.
   */
  run(ops: readonly Op[], deadlineMs: number): readonly Reply[] | Promise<readonly Reply[]>
  /**
   * Takes back an op that was given to `run` and has taken too long.
   * @returns why it has not been begun, and then it never is; undefined when it may have been carried out
   */
  withdraw?(op: Op): Error | undefined
  /**
   * Which of several servers an op goes to, in a word; one that goes to several has a place of its own. That one place
   * has failed is not held against the others.
   * @returns undefined where there is but one, or it is not known. @default one
   */
  placeOf?(op: Op): string | undefined
  /** Told by the limiter where to report what nobody waits for. */
  observe?(report: (event: StoreEvent) => void): void
  /** Looks for what is set up so that it cannot work, or not as it should. */
  check?(): Promise<readonly Finding[]>
  close(): Promise<void>
}

/** Something a store did on its own. */
export type StoreEvent =
  | { readonly type: 'evicted'; readonly policy: string; readonly owner: BucketOwner }
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected'; readonly error?: Error }

/** A reply to an op that neither consumed nor looked. */
export function changedReply(nowUs: number, changed: boolean): Reply {
  return { nowUs, admitted: changed, blockedUs: 0, replayed: false, readings: [], healed: [] }
}
