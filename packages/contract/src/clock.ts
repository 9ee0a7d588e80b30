/**
 * Where time comes from and where waits are made. The clock counts milliseconds from an arbitrary
 * start and never goes back; it says nothing about the date.
 */
export interface Clock {
  /** Monotonic milliseconds. */
  now(): number
  /** Runs `run` once, no earlier than `ms` from now. */
  setTimeout(run: () => void, ms: number): unknown
  clearTimeout(handle: unknown): void
}

/** The machine's own clock and timers. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (handle) => clearTimeout(handle as never),
}
