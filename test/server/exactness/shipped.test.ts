import {
  createLimiter,
  fixedWindow,
  type Limiter,
  memoryStore,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'

// Kinds of faults that limiters have shipped with, where no other test is about them.

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
beforeEach(async () => {
  await redis.flushall()
})
afterAll(() => server.stop())

function open(policies: readonly Policy[]): Limiter {
  const limiter = createLimiter({
    policies,
    store: redisStore(redis, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    denyCache: false,
  }) as Limiter
  onTestFinished(() => limiter.close())
  return limiter
}

async function left(limiter: Limiter, who: string | { client: string; account: string }) {
  const decision = await limiter.peek(who)
  return 'limits' in decision ? decision.limits.map(({ available }) => available) : decision.outcome
}

it('a Redis without memory fails a call whole: nothing of it is charged', async () => {
  const limiter = open([
    tokenBucket({ name: 'a', capacity: 9, refillPerSecond: 1e-6 }),
    slidingWindowLog({ name: 'b', quota: 9, windowSeconds: 3600, by: 'account' }),
  ])
  const who = { client: 'c', account: 'x' }
  await limiter.consume(who, { id: 'i' })
  await redis.config('SET', 'maxmemory', '1')
  onTestFinished(async () => {
    await redis.config('SET', 'maxmemory', '0')
  })
  expect((await limiter.consume(who, { id: 'j' })).outcome).toBe('unavailable')
  await redis.config('SET', 'maxmemory', '0')
  await until('Redis is asked again', async () => (await limiter.peek(who)).source === 'store')
  expect(await left(limiter, who)).toEqual([8, 8])
  expect(await limiter.consume(who, { id: 'j' })).toMatchObject({ replayed: false })
})

it.each([
  [10_000, 10_000],
  [100, 16_666],
  [1, 1_000_000],
])('a bucket of %d at %d a second refuses, and what it keeps lives', async (capacity, refillPerSecond) => {
  const limiter = open([tokenBucket({ name: 'p', capacity, refillPerSecond })])
  // In one trip there is but one instant.
  const calls = await Promise.all([1, 2, 3].map(() => limiter.consume('c', { cost: capacity })))
  expect(calls.map(({ outcome }) => outcome)).toEqual(['admitted', 'refused', 'refused'])
  for (const key of await redis.keys('*')) expect(await redis.pttl(key)).not.toBe(-1)
})

it.each([
  fixedWindow({ name: 'p', quota: 3, windowSeconds: 0.05 }),
  slidingWindowLog({ name: 'p', quota: 3, windowSeconds: 0.05 }),
  slidingWindowCounter({ name: 'p', quota: 3, windowSeconds: 0.05 }),
  tokenBucket({ name: 'p', capacity: 3, refillPerSecond: 60 }),
])('a refund that comes when all is over leaves nothing behind (%#)', async (policy) => {
  const limiter = open([policy])
  const decision = await limiter.consume('c', { cost: 3 })
  await until('the key has expired', async () => (await redis.dbsize()) === 0)
  expect(await limiter.refund(decision)).toBe(false)
  expect(await redis.dbsize()).toBe(0)
  expect(await left(limiter, 'c')).toEqual([3])
})

describe('whoever waits as long as Retry-After says, in whole seconds, is not refused again', () => {
  const windows = { name: 'p', quota: 3, windowSeconds: 7.3 }
  it.each([
    tokenBucket({ name: 'p', capacity: 3, refillPerSecond: 0.37 }),
    fixedWindow(windows),
    fixedWindow({ ...windows, anchor: 'first-request' }),
    slidingWindowLog(windows),
    slidingWindowCounter(windows),
  ])('a hundred times over (%#)', async (policy) => {
    let nowMs = 1_796_256_000_123.4
    const limiter = createLimiter({ policies: [policy], store: memoryStore({ clock: { now: () => nowMs } }) })
    let refused = 0
    while (refused < 100) {
      const decision = await limiter.consume('c')
      if (decision.outcome !== 'refused') continue
      refused += 1
      nowMs += Math.max(1, Math.ceil(decision.retryAfterSeconds)) * 1000
      expect((await limiter.consume('c')).outcome).toBe('admitted')
    }
  })
})
