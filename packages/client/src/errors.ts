import { seconds } from './events.js'
import type { KnownLimit } from './pace/pace.js'

/**
 * Why a call was not sent: its wait would be longer than `maxWaitSeconds`, too many calls wait already,
 * `totalTimeoutSeconds` ran out, or the client was closed.
 */
export type RateLimitReason = 'max-wait' | 'queue-full' | 'deadline' | 'closed'

/** What is known when a call is given up. */
export interface RateLimitFacts {
  readonly retryAfterSeconds?: number | undefined
  readonly limits?: readonly KnownLimit[]
}

/** A call that could not be made within the limits it was given. Nothing was sent, or no answer came. */
export class RateLimitError extends Error {
  override readonly name = 'RateLimitError' as const
  readonly reason: RateLimitReason
  /** Seconds until a call could go, where that is known. */
  readonly retryAfterSeconds?: number
  /** What was known of the limits then. */
  readonly limits: readonly KnownLimit[]

  constructor(reason: RateLimitReason, message: string, facts: RateLimitFacts = {}) {
    super(message)
    this.reason = reason
    this.limits = facts.limits ?? []
    if (facts.retryAfterSeconds !== undefined) this.retryAfterSeconds = facts.retryAfterSeconds
  }
}

/** The option that a call has come up against. */
const bounds: Readonly<Record<Exclude<RateLimitReason, 'closed'>, string>> = {
  'max-wait': 'maxWaitSeconds',
  'queue-full': 'maxQueue',
  deadline: 'totalTimeoutSeconds',
}

/**
 * The error of a call that was given up, in words.
 *
 * @param where the partition as it may be shown
 * @param waitMs until a call could go; not finite = unknown
 */
export function refusalError(
  reason: RateLimitReason,
  where: string,
  waitMs: number,
  limits: readonly KnownLimit[],
): RateLimitError {
  if (reason === 'closed') return closedError()
  const facts = { ...seconds('retryAfterSeconds', waitMs), limits }
  const when =
    facts.retryAfterSeconds === undefined ? '' : ` may be called again in ${facts.retryAfterSeconds} s`
  return new RateLimitError(reason, `${bounds[reason]} does not allow the call: ${where}${when}`, facts)
}

export function closedError(): RateLimitError {
  return new RateLimitError('closed', 'The client was closed')
}
