import type { RateLimitReason } from './errors.js'

/** Which answers are retried. */
export interface RetryRules {
  readonly statuses: ReadonlySet<number>
  readonly methods: ReadonlySet<string>
  readonly maxAttempts: number
}

/** What a call may still do. */
export interface Chances {
  /** How many times it was sent. */
  readonly attempt: number
  /** Whether its body can be sent again. */
  readonly repeatable: boolean
  /** How long to wait before it could be sent again, and how long it may wait. */
  readonly waitMs: number
  readonly leftMs: number
  /** What `leftMs` is short because of. */
  readonly bound: RateLimitReason
}

export type Obstacle = RateLimitReason | 'attempts' | 'body'

/** A 429 was refused before anything was done (RFC 6585 section 4), which no other status promises. */
export function isRetryable(status: number, method: string, rules: RetryRules): boolean {
  return rules.statuses.has(status) && (status === 429 || rules.methods.has(method))
}

/** What stands against sending again a call whose answer is worth it; undefined = nothing. */
export function obstacle(chances: Chances, rules: RetryRules): Obstacle | undefined {
  if (chances.attempt >= rules.maxAttempts) return 'attempts'
  if (!chances.repeatable) return 'body'
  return chances.waitMs > chances.leftMs ? chances.bound : undefined
}
