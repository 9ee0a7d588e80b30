import {
  concurrency,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'

/** Units that four processes are to share, however they ask for them. */
export const QUOTA = 100
export const CALLS_EACH = 250
const NEVER = 1e-6

/** How the calls are made. To add a way: say here what it is, and make the calls in worker.ts. */
export const ways = ['single', 'batched', 'deny cache', 'id', 'cluster'] as const
export type Way = (typeof ways)[number] | 'leases'

/** By algorithm, policies that give nothing back while the test runs. */
export const shapes: Readonly<Record<string, (windowSeconds: number) => readonly Policy[]>> = {
  'a token bucket': () => [tokenBucket({ name: 'p', capacity: QUOTA, refillPerSecond: NEVER })],
  'a leaky bucket': () => [leakyBucket({ name: 'p', capacity: QUOTA, leakPerSecond: NEVER })],
  'a fixed window': (windowSeconds) => [fixedWindow({ name: 'p', quota: QUOTA, windowSeconds })],
  'a fixed window from the first request': (windowSeconds) => [
    fixedWindow({ name: 'p', quota: QUOTA, windowSeconds, anchor: 'first-request' }),
  ],
  'a sliding window log': (windowSeconds) => [slidingWindowLog({ name: 'p', quota: QUOTA, windowSeconds })],
  'a sliding window counter': (windowSeconds) => [
    slidingWindowCounter({ name: 'p', quota: QUOTA, windowSeconds }),
  ],
  concurrency: () => [concurrency({ name: 'p', limit: QUOTA, leaseSeconds: 3600 })],
  'two policies of one partition': (windowSeconds) => [
    tokenBucket({ name: 'p', capacity: 2 * QUOTA, refillPerSecond: NEVER }),
    fixedWindow({ name: 'q', quota: QUOTA, windowSeconds }),
  ],
  'policies of two partitions': (windowSeconds) => [
    slidingWindowLog({ name: 'p', quota: 2 * QUOTA, windowSeconds }),
    tokenBucket({ name: 'q', capacity: QUOTA, refillPerSecond: NEVER, by: 'account' }),
  ],
}

/** Where the stores of a row are: a Redis, or a node of a Cluster. */
export interface Ports {
  readonly redis: number
  readonly cluster: number
}

/** What a worker is told to do, and what it says that came of it. */
export interface Row {
  readonly way: Way
  readonly shape: string
  readonly windowSeconds: number
  /** Whom the calls are for, in this row alone. */
  readonly who: string
}

export interface Count {
  /** Calls that were admitted and charged. */
  readonly charged: number
  /** Calls that were told again of an admission. */
  readonly replayed: number
  /** Calls that passed on units taken ahead. */
  readonly leased: number
  /** Calls that were refused without asking the store. */
  readonly denied: number
  /** Outcomes that there should be none of. */
  readonly strange: readonly string[]
}

/** A window of about a day whose edge is hours away, so that none ends while the test runs. */
export function windowOfADay(nowMs: number): number {
  const days = [86_400, 100_000, 90_000, 110_000]
  const far = days.find((seconds) => {
    const share = ((nowMs / 1000) % seconds) / seconds
    return share > 0.1 && share < 0.9
  })
  return far ?? 86_400
}
