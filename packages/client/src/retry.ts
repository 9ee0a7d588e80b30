import type { RateLimitReason } from './errors.js'
import type { Settings } from './options.js'
import type { Target } from './target.js'

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

export type Obstacle = RateLimitReason | 'attempts' | 'body' | 'budget'

/** How servers say beside the status whether a retry helps. */
const adviceFields = ['x-should-retry', 'stripe-should-retry']

/** What the answer itself says of a retry, if it says anything. */
export function readAdvice(response: Response): boolean | undefined {
  if (response.status < 400) return undefined
  const said = adviceFields.map((name) => response.headers.get(name)?.trim().toLowerCase())
  return said.includes('false') ? false : said.includes('true') || undefined
}

/**
 * Refusals hold for any method, since nothing was done: a 429 (RFC 6585 section 4), and a 503 that says when to
 * come back (RFC 9110 section 15.6.4). What no other status promises, nor silence, a method or an `Idempotency-Key` has to.
 *
 * @param status undefined when no answer came
 * @param limited whether it was refused because of a limit
 * @param advice what the server or the caller's own `classify` says of a retry, over all rules
 */
export function isRetryable(
  status: number | undefined,
  limited: boolean,
  advice: boolean | undefined,
  target: Target,
  settings: Settings,
): boolean {
  const { statuses, methods, networkErrors } = settings
  if (advice !== undefined) return advice
  if (status === undefined ? !networkErrors : !statuses.has(status)) return false
  if (status === 429 || (status === 503 && limited)) return true
  return methods.has(target.method) || target.headers.has('idempotency-key')
}

/** What stands against sending again a call whose end is worth it; undefined = nothing. */
export function obstacle(chances: Chances, maxAttempts: number): Obstacle | undefined {
  if (chances.attempt >= maxAttempts) return 'attempts'
  if (!chances.repeatable) return 'body'
  return chances.waitMs > chances.leftMs ? chances.bound : undefined
}

/** What fetch rejects with when no answer came, in the words of any implementation; a call that makes no sense is another matter. */
export function isNetworkError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { name, message, cause, code } = error as { [member: string]: unknown }
  if (name === 'TimeoutError') return true
  if (name === 'AbortError' || name === 'RateLimitError') return false
  return typeof code === 'string' || cause !== undefined || networkWords.test(String(message))
}

const networkWords = /^(failed to fetch|fetch failed|load failed|network|error sending)/i
