import type { Refill } from '@ratepact/contract'

/**
 * One limit as an API states it: which field says what. Fields are named in any case; numbers may have a fraction, and
 * of several in one field, which a proxy adds, the stricter counts. A limit whose answer lacks `left` (or what
 * stands in its place) is not read from that answer.
 */
export interface LimitRow {
  /** What the limit is called in `api.limits()` and errors, unless `nameFrom` says otherwise. */
  readonly name: string
  /** A field whose value is the name of the limit that held this call, where an API keeps several apart. */
  readonly nameFrom?: string | undefined
  /** Whether each route has a limit of its own of that name. @default false */
  readonly perRoute?: boolean | undefined
  /** What is counted; anything but `requests` only stops calls when nothing is left. @default 'requests' */
  readonly unit?: string | undefined
  /** Units in a window: a field, or a number that the API's documentation states. */
  readonly quota?: string | number | undefined
  /** The field of units left; below 0 = unknown. */
  readonly left?: string | undefined
  /** The field of units used, where that is what is stated: with `quota` it gives what is left, with `left` the quota. */
  readonly used?: string | undefined
  /** A field with both, as in `32/40`: used and quota. */
  readonly usage?: string | undefined
  /**
   * The field that says when there is more. A number is a delay in seconds, or a timestamp in seconds or milliseconds if it is
   * too large for one; durations (`1m30s`, `12ms`) and dates of any usual form are read too.
   */
  readonly reset?: string | undefined
  /** What a small number in `reset` counts: no size tells milliseconds from seconds. @default 'seconds' */
  readonly resetIn?: 'seconds' | 'milliseconds' | undefined
  /** Whether `reset` is when the quota is whole again, and not when the first unit comes back. @default false */
  readonly resetWhenFull?: boolean | undefined
  /** Length of the window in seconds: a number, or a field of seconds or a duration (`1m`). */
  readonly window?: string | number | undefined
  /** The field of the window's length in milliseconds. */
  readonly windowMs?: string | undefined
  /** Units that come back within `window` (within a second where there is none): a field or a number. */
  readonly refillUnits?: string | number | undefined
  /** How units come back. @default found out from the answers */
  readonly refill?: Refill | undefined
}

/** How one API states its limits. */
export interface Dialect {
  readonly name: string
  /** Hosts that speak it: `api.example.com`, or `*.example.com` for all below. @default any whose answers fit */
  readonly hosts?: readonly string[] | undefined
  readonly limits: readonly LimitRow[]
  /**
   * Statuses that are refusals when nothing is left or the answer says how long to stay away, beside 429: GitHub's 403.
   * @default none
   */
  readonly refusals?: readonly number[] | undefined
  /** For what no row can say: more limits of an answer. What it throws fails the call. */
  readonly read?: ((fields: Fields) => readonly Stated[]) | undefined
  /** Whether it is read although the answer has a `RateLimit` field as well. @default false */
  readonly beforeStandard?: boolean | undefined
}

/** The fields of an answer. */
export interface Fields {
  /** The value of a field, if it has one of sensible length. */
  get(name: string): string | undefined
  /** All names, in lower case. */
  readonly names: readonly string[]
  /** Milliseconds from the answer until what a text says: see `LimitRow.reset`. Undefined when it says nothing, 0 if it is past. */
  untilMs(text: string | undefined, smallIn?: 'seconds' | 'milliseconds'): number | undefined
}

/** One limit, in the form that all dialects are brought to. */
export interface Stated {
  readonly name: string
  /** Tells limits of one name apart, where the answer does. */
  readonly key?: string | undefined
  readonly unit?: string | undefined
  readonly quota?: number | undefined
  /** Units left; none where the answer states the rule alone. */
  readonly left?: number | undefined
  /** Milliseconds until there is more, or (`full`) until the quota is whole. */
  readonly resetMs?: number | undefined
  readonly full?: boolean | undefined
  /** Whether each route has one of its own. */
  readonly perRoute?: boolean | undefined
  readonly windowMs?: number | undefined
  readonly refill?: Refill | undefined
}
