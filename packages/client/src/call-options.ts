import { aNumber, aString, aWhole, type Check, checkMembers, optional } from './check.js'

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
/** The largest number that a field can state. */
export const mostUnits = 999_999_999_999_999

export function waitSeconds(): Check<number> {
  return aNumber(0, mostWaitSeconds, ' of seconds')
}

/** What a call says about itself, completed from what holds for all calls of its client. */
export function readCallOptions(options: CallOptions | undefined, all: CallSettings): CallSettings {
  if (options === undefined) return all
  const { cost, priority, maxWaitSeconds, fairnessKey } = checkMembers('rateLimit', options, {
    cost: optional(aWhole(0, mostUnits), all.cost),
    priority: optional(aNumber(-1000, 1000), all.priority),
    maxWaitSeconds: optional(waitSeconds(), all.maxWaitMs / 1000),
    fairnessKey: optional(aString, all.key),
  })
  return { cost, priority, key: fairnessKey, maxWaitMs: maxWaitSeconds * 1000 }
}
