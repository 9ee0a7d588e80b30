import { type Backoff, backoffMs } from './backoff.js'
import type { RateLimitReason } from './errors.js'

/** One answer, and what its call may still do. */
export interface Outcome {
  /** How many times the call was sent. */
  readonly attempt: number
  readonly repeatable: boolean
  /** How long to wait before it could be sent again, and how long it may wait. */
  readonly waitMs: number
  readonly leftMs: number
  /** What `leftMs` is short because of. */
  readonly bound: RateLimitReason
}

/** Which answers are retried. */
export interface RetryRules {
  readonly statuses: ReadonlySet<number>
  readonly methods: ReadonlySet<string>
  readonly maxAttempts: number
}

export type Obstacle = RateLimitReason | 'attempts' | 'body'

/** A 429 was refused before anything was done (RFC 6585 section 4), which no other status promises. */
export function isRetryable(status: number, method: string, rules: RetryRules): boolean {
  return rules.statuses.has(status) && (status === 429 || rules.methods.has(method))
}

/** What stands against sending again a call whose answer is worth it; undefined = nothing. */
export function obstacle(outcome: Outcome, rules: RetryRules): Obstacle | undefined {
  if (outcome.attempt >= rules.maxAttempts) return 'attempts'
  if (!outcome.repeatable) return 'body'
  return outcome.waitMs > outcome.leftMs ? outcome.bound : undefined
}

/** Grows with each refusal in a row, for servers whose hint is shorter than their limit. */
function leastMs(refusals: number): number {
  return refusals <= 1 ? 0 : Math.min(50 * 2 ** Math.min(refusals - 2, 20), 10_000)
}

/**
 * How long to wait after an answer. The server's hint is never undercut; where it says nothing, or says
 * "now" and so nothing, the backoff decides.
 *
 * @param refusals how many in a row, this one included
 */
export function retryWaitMs(
  hintMs: number | undefined,
  refusals: number,
  backoff: Backoff,
  random: () => number,
): number {
  if (hintMs === undefined || hintMs <= 0) return backoffMs(backoff, refusals, random)
  return Math.max(hintMs, leastMs(refusals))
}
