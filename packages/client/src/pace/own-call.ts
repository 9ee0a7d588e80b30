/** One own call under one limit, or several of the past taken together. */
export interface OwnCall {
  atMs: number
  /** What it takes from the quota; 0 once it is known to have been refused. */
  units: number
  flying: boolean
  /** Until when the server may have counted it at the latest; Infinity while it is on its way. */
  latestMs: number
  /** What its own answer said was left after it; -1 if it has none. */
  available: number
  /** When a rolling window has given it back at the latest; Infinity while unknown. */
  returnsAtMs: number
  /** The level has been credited with its return. */
  back: boolean
  /** The server gave it back early, with the rest of its window: no return is due any more. */
  gone: boolean
}
