import type { Clock } from '@ratepact/contract'
import { neverRun, type StoreError } from './store-error.js'

/** Stops asking a store that has failed again and again, and lets one call at a time find out whether it is back. */
export interface Breaker {
  /**
   * Leave to ask the store: a number from 1, by which `failed` knows the call.
   * @returns what the store failed with last, as of something never begun, while it is left alone
   */
  enter(): number | StoreError
  succeeded(): void
  failed(nth: number, error: StoreError): void
  /** Something speaks for it that the store is back: the next call may find out. */
  hurry(): void
  /** ms until a call may ask again; 0 while all may. */
  waitMs(): number
}

/** Whether the store is being asked. */
export type BreakerState = 'closed' | 'open'

/** So many calls in a row, each begun after the one before had failed, show an outage; fewer may be a hiccup. */
const MOST_FAILURES = 3
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1000
/** A probe may cost its caller as long as the deadline: at most this part of the time goes by with one waiting. */
const DEADLINES_PER_PAUSE = 10

/**
 * Own code and not a library, because it is this little: it runs on the limiter's clock, has no timer (a call that
 * comes when the pause is over is the probe), tells calls that failed together from calls that failed one after
 * another, and takes a hint that the store is back.
 */
export function createBreaker(
  clock: Pick<Clock, 'now'>,
  timeoutMs: number,
  changed: (state: BreakerState, waitMs: number, error: StoreError | undefined) => void,
): Breaker {
  const longestMs = Math.max(LONGEST_PAUSE_MS, DEADLINES_PER_PAUSE * timeoutMs)
  let begun = 0
  /** Calls up to this one say nothing new when they fail: they were under way when the last failure was counted. */
  let counted = 0
  let failures = 0
  /** Set while the breaker is open. */
  let open: { error: StoreError; pauses: number; untilMs: number } | undefined
  let probe = 0
  /** Calls up to this one had begun when something last spoke for the store: they may have been too early. */
  let hinted = 0

  function pause(error: StoreError): void {
    const pauses = (open?.pauses ?? 0) + 1
    // An error that is answered costs nobody any time.
    const mostMs = error.reason === 'unready' || error.reason === 'error' ? LONGEST_PAUSE_MS : longestMs
    const ms = Math.min(mostMs, FIRST_PAUSE_MS * 2 ** Math.min(pauses - 1, 20))
    const first = open === undefined
    // Half of it by chance, so that a fleet does not ask in one instant.
    open = { error: neverRun(error), pauses, untilMs: clock.now() + ms / 2 + (Math.random() * ms) / 2 }
    if (first) changed('open', waitMs(), error)
  }

  function waitMs(): number {
    return open === undefined ? 0 : Math.max(0, open.untilMs - clock.now())
  }

  return {
    enter() {
      if (open === undefined) return ++begun
      if (probe > 0 || waitMs() > 0) return open.error
      probe = ++begun
      return probe
    },
    succeeded() {
      counted = begun
      failures = 0
      probe = 0
      if (open === undefined) return
      open = undefined
      changed('closed', 0, undefined)
    },
    failed(nth, error) {
      if (nth === probe) {
        probe = 0
        if (nth > hinted) pause(error)
      }
      if (open !== undefined || nth <= counted) return
      counted = begun
      failures += 1
      if (failures >= MOST_FAILURES) pause(error)
    },
    hurry() {
      hinted = begun
      if (open !== undefined) open.untilMs = clock.now()
    },
    waitMs,
  }
}
