import { checkMembers, checkNumber, checkWhole, given } from './check.js'

/** What one call may say in `init.rateLimit`. */
export interface CallOptions {
  /** Quota units that the call takes. @default 1 */
  readonly cost?: number | undefined
  /** Who goes first when calls wait: the higher. @default 0 */
  readonly priority?: number | undefined
  /** @default that of the client */
  readonly maxWaitSeconds?: number | undefined
}

/** What is settled anew for each call. */
export interface CallSettings {
  readonly cost: number
  readonly priority: number
  readonly maxWaitMs: number
}

/** The longest wait that can be asked for: a year. */
const mostWaitSeconds = 31_536_000
const mostCost = 999_999_999_999_999

/** What a call says about itself, completed from what holds for all calls of its client. */
export function readCallOptions(options: CallOptions | undefined, all: CallSettings): CallSettings {
  if (options === undefined) return all
  checkMembers('rateLimit', options, ['cost', 'priority', 'maxWaitSeconds'])
  return {
    cost: checkWhole('rateLimit.cost', given(options.cost, all.cost), 0, mostCost),
    priority: checkNumber('rateLimit.priority', given(options.priority, all.priority), -1000, 1000),
    maxWaitMs: readMaxWaitMs('rateLimit.maxWaitSeconds', options.maxWaitSeconds, all.maxWaitMs),
  }
}

export function readMaxWaitMs(name: string, seconds: number | undefined, defaultMs: number): number {
  if (seconds === undefined) return defaultMs
  return checkNumber(name, seconds, 0, mostWaitSeconds, ' of seconds') * 1000
}
