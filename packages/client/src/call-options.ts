import { checkMembers, checkNumber, checkText, checkWhole, given } from './check.js'

/** What one call may say in `init.rateLimit`. */
export interface CallOptions {
  /** Quota units that the call takes. @default 1 */
  readonly cost?: number | undefined
  /** Who goes first when calls wait: the higher. @default 0 */
  readonly priority?: number | undefined
  /**
   * On whose behalf the call is made: keys take turns, so that one with a thousand calls does not hold up another
   * with one. @default one key for all
   */
  readonly fairnessKey?: string | undefined
  /** @default that of the client */
  readonly maxWaitSeconds?: number | undefined
}

/** What is settled anew for each call. */
export interface CallSettings {
  readonly cost: number
  readonly priority: number
  readonly key: string
  readonly maxWaitMs: number
}

/** The longest wait that can be asked for: a year. */
const mostWaitSeconds = 31_536_000
const mostCost = 999_999_999_999_999

/** What a call says about itself, completed from what holds for all calls of its client. */
export function readCallOptions(options: CallOptions | undefined, all: CallSettings): CallSettings {
  if (options === undefined) return all
  checkMembers('rateLimit', options, ['cost', 'priority', 'maxWaitSeconds', 'fairnessKey'])
  return {
    cost: checkWhole('rateLimit.cost', given(options.cost, all.cost), 0, mostCost),
    priority: checkNumber('rateLimit.priority', given(options.priority, all.priority), -1000, 1000),
    key: checkText('rateLimit.fairnessKey', given(options.fairnessKey, all.key)),
    maxWaitMs: readMaxWaitMs('rateLimit.maxWaitSeconds', options.maxWaitSeconds, all.maxWaitMs),
  }
}

export function readMaxWaitMs(name: string, seconds: number | undefined, defaultMs: number): number {
  if (seconds === undefined) return defaultMs
  return checkNumber(name, seconds, 0, mostWaitSeconds, ' of seconds') * 1000
}
