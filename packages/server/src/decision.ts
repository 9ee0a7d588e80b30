/** What one policy said of a call. In the order of configuration. */
export interface Limit<Name extends string = string> {
  readonly policy: Name
  readonly quota: number
  readonly windowSeconds?: number
  readonly unit: string
  /** Units this call takes from the policy. */
  readonly cost: number
  /**
   * Units left after the decision, never negative. Of a call that is held until its units are there: what will be left
   * when it is let go, if nobody else comes meanwhile, and so is the effective window.
   */
  readonly available: number
  /** Whole seconds within which no more than `available` units can be used; of a policy that refused, its wait. */
  readonly effectiveWindowSeconds?: number
  /** The same in milliseconds, never more than the whole seconds. */
  readonly effectiveWindowMs?: number
  /** How long this policy asks to hold the call that it admitted. Of leaky buckets, and of a limiter with `hold`. */
  readonly delaySeconds?: number
  /**
   * How many client processes share these units, where the limiter counts them and any has told of itself: advice, for
   * those who pace by it.
   */
  readonly instances?: number
  /** Tells apart the buckets of a policy that counts per scope. */
  readonly partitionKey?: Uint8Array
  /** False when this policy refused the call. */
  readonly allowed: boolean
}

/**
 * Who answered. `deny-cache`: this process, which had been refused before and for long enough. `lease`: this process,
 * out of units that it had taken ahead. `local`: this process by its share, because the store could not be asked. `none`: nobody could.
 */
export type Source = 'store' | 'deny-cache' | 'lease' | 'local' | 'none'

/** What a policy or a list that is only tried said of a call: no call is refused, delayed or stated by it. */
export interface ShadowResult {
  /** `shadow`: a policy that was built with `shadow: true`. `candidate`: the list of that name, as a whole. */
  readonly group: 'shadow' | 'candidate'
  /** Which policy, of a shadow. */
  readonly policy?: string
  /** Whether it would have let the call pass. */
  readonly allowed: boolean
  /** What it would have stated, in the order of configuration; empty where the cost is above a quota. */
  readonly limits: readonly Limit[]
  /** Which of its policies would have refused. */
  readonly violated: readonly string[]
  /** After how long the call would have fitted. Absent when it would have passed, or never fits. */
  readonly retryAfterSeconds?: number
  /** How long it would have held the call. Absent when it would not have passed. */
  readonly delaySeconds?: number
}

interface Common {
  readonly source: Source
  /**
   * What was tried on this call: shadows in the order of configuration, then the candidate. Empty where nothing is, and
   * where the store was not asked, or said that the caller is blocked.
   */
  readonly shadow: readonly ShadowResult[]
  /** The plan that the call was judged by, where the limiter has plans. */
  readonly plan?: string
}

/** The call fits every policy and has been charged to each. */
export interface Admitted<Name extends string = string> extends Common {
  readonly outcome: 'admitted'
  readonly allowed: true
  readonly limits: readonly Limit<Name>[]
  /** How long the call must be held before it may go on; 0 where neither a leaky bucket nor `hold` asks for it. */
  readonly delaySeconds: number
  /** Whether this repeats an admission made before by the same id, and nothing was charged now. */
  readonly replayed: boolean
}

/** The call does not fit now; nothing was charged anywhere. */
export interface Refused<Name extends string = string> extends Common {
  readonly outcome: 'refused'
  readonly allowed: false
  readonly limits: readonly Limit<Name>[]
  readonly violated: readonly Name[]
  /** Exact and fractional: after this long, with no other traffic, the call fits. */
  readonly retryAfterSeconds: number
}

/** The cost is above the quota: this call never fits. */
export interface Impossible<Name extends string = string> extends Common {
  readonly outcome: 'impossible'
  readonly allowed: false
  readonly violated: readonly Name[]
}

/** The partition is blocked, whatever its policies say. */
export interface Blocked extends Common {
  readonly outcome: 'blocked'
  readonly allowed: false
  /** Absent when the block is for ever. */
  readonly retryAfterSeconds?: number
}

/** The store did not answer and the limiter is closed then, or cannot tell by its share. */
export interface Unavailable extends Common {
  readonly outcome: 'unavailable'
  readonly allowed: false
  readonly retryAfterSeconds: number
}

/** The store did not answer and the limiter is open then: nothing was checked. */
export interface Unchecked extends Common {
  readonly outcome: 'unchecked'
  readonly allowed: true
  readonly limits: readonly []
}

/** The answer to `consume` and `peek`: a union told apart by `outcome`. */
export type Decision<Name extends string = string> =
  | Admitted<Name>
  | Refused<Name>
  | Impossible<Name>
  | Blocked
  | Unavailable
  | Unchecked
