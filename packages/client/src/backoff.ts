import { aNumber, checkMembers, optional, someNumber, unheard } from './check.js'

/** How long to wait after a refusal that says nothing about when to come back. An immutable value. */
export interface Backoff {
  /**
   * @param attempt how many times in a row there was no success, from 1
   * @param random a number from 0 up to, not including, 1
   * @returns seconds
   */
  delaySeconds(attempt: number, random: () => number): number
}

export interface ExponentialBackoffOptions {
  /** The longest first wait, in seconds. @default 1 */
  readonly firstSeconds?: number | undefined
  /** The longest wait of all, in seconds. @default 30 */
  readonly maxSeconds?: number | undefined
}

/** Far above any useful doubling, far below where a power of two stops being a number. */
const mostDoublings = 40
/** The least first wait as a part of the longest: a server that answers 429 is never asked again at once. */
const leastPart = 0.05

/**
 * Waits that double, each drawn evenly between the longest of the step before and its own longest, so
 * that clients refused together do not come back together and yet no wait is shorter than the last one.
 * The first is drawn almost from zero. Once the cap is reached, from half of it.
 *
 * @throws TypeError or RangeError for bounds that are not numbers, not positive or out of order.
 */
export function exponentialBackoff(options: ExponentialBackoffOptions = {}): Backoff {
  const { firstSeconds: first, maxSeconds } = checkMembers(
    'backoff options',
    options,
    { firstSeconds: optional(aNumber(0.001, 86_400), 1), maxSeconds: optional(someNumber) },
    '',
  )
  const most = optional(aNumber(first, 86_400), Math.max(30, first))('maxSeconds', maxSeconds)
  const longest = (attempt: number): number =>
    Math.min(most, first * 2 ** Math.min(attempt - 1, mostDoublings))
  const shortest = (attempt: number): number =>
    attempt <= 1 ? first * leastPart : Math.min(longest(attempt - 1), most / 2)
  return {
    delaySeconds(attempt: number, random: () => number): number {
      const from = Math.min(shortest(attempt), longest(attempt))
      return from + random() * (longest(attempt) - from)
    },
  }
}

/** The wait in milliseconds that a backoff of any maker asks for, kept a sane number. */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number): number {
  const ms = unheard(backoff.delaySeconds(attempt, random)) * 1000
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 1), 86_400_000) : 1000
}
