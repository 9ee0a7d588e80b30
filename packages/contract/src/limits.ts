/** How a policy gives its units back; a hint beside the draft's parameters (`ratepact-refill`). */
export type Refill = 'bucket' | 'window' | 'log' | 'counter'

/** One member of the `RateLimit-Policy` field: a rule, and what it allows (draft-11 section 3.1). */
export interface QuotaPolicy {
  policy: string
  /** Units allowed in one window. */
  quota: number
  /** What is counted: `requests` unless the field says otherwise. */
  unit: string
  /** Length of the window in seconds. */
  windowSeconds?: number
  /** Who shares the quota, as opaque bytes. */
  partitionKey?: Uint8Array
  /** Hint: how units come back. */
  refill?: Refill
  /** Hint: the exact rate in units per second, where quota over window states it less well. */
  ratePerSecond?: number
}

/** One member of the `RateLimit` field: what is left under a policy right now (draft-11 section 4.1). */
export interface ServiceLimit {
  policy: string
  /** Units left. An upper bound, not a promise. */
  available: number
  /** Seconds within which no more than `available` units can be used. */
  effectiveWindowSeconds?: number
  partitionKey?: Uint8Array
  /** Units that the answered request took. */
  cost?: number
  /** Hint: the effective window in milliseconds, never above `effectiveWindowSeconds`. */
  effectiveWindowMs?: number
  /** Hint: how many client processes share this quota. */
  instances?: number
}

/** What reading a field came to. Reading never throws. */
export type FieldResult<T> =
  | { status: 'absent' }
  | { status: 'ignored'; reason: string }
  | { status: 'ok'; items: readonly T[]; dropped: readonly { index: number; reason: string }[] }
