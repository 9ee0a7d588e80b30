import {
  concurrency,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'

/** A policy of each algorithm, and for how long at most (ms) a key of it may live: until what it holds says nothing. */
export interface Kept {
  readonly policy: Policy
  /** After calls that fit. */
  readonly longestMs: number
  /** After a debt, which is at most one quota. */
  readonly inDebtMs: number
}

export const QUOTA = 6
const WINDOW_S = 600

/** How they may differ from policies that decide, of the name `p`, over all scopes. */
export interface Form {
  readonly perScope?: boolean
  readonly name?: string
  readonly shadow?: boolean
}

export function policiesKept(form: Form = {}): Readonly<Record<string, Kept>> {
  const common = { name: 'p', ...form }
  const window = { ...common, quota: QUOTA, windowSeconds: WINDOW_S }
  const perSecond = QUOTA / WINDOW_S
  const until = (windows: number) => windows * WINDOW_S * 1000
  return {
    'token bucket': {
      policy: tokenBucket({ ...common, capacity: QUOTA, refillPerSecond: perSecond }),
      longestMs: until(1),
      inDebtMs: until(2),
    },
    'leaky bucket': {
      policy: leakyBucket({ ...common, capacity: QUOTA, leakPerSecond: perSecond }),
      longestMs: until(1),
      inDebtMs: until(2),
    },
    'fixed window': { policy: fixedWindow(window), longestMs: until(1), inDebtMs: until(1) },
    'fixed window from the first request': {
      policy: fixedWindow({ ...window, anchor: 'first-request' }),
      longestMs: until(1),
      inDebtMs: until(1),
    },
    'sliding window log': { policy: slidingWindowLog(window), longestMs: until(1), inDebtMs: until(1) },
    'sliding window counter': {
      policy: slidingWindowCounter(window),
      longestMs: until(2),
      inDebtMs: until(2),
    },
    concurrency: {
      policy: concurrency({ ...common, limit: QUOTA, leaseSeconds: WINDOW_S }),
      longestMs: until(1),
      inDebtMs: until(1),
    },
  }
}
