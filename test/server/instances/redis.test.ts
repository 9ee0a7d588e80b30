import { createLimiter, fixedWindow, type Limiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'

let server: TestRedis
let redis: Redis

beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
afterAll(() => server.stop())
beforeEach(() => redis.flushall())

function limiterFor(hold = false): Limiter {
  return createLimiter({
    policies: [
      tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 10 }),
      fixedWindow({ name: 'day', quota: 100_000, windowSeconds: 86_400 }),
    ],
    store: redisStore(redis, { timeoutMs: 10_000 }),
    onStoreFailure: 'closed',
    countInstances: true,
    ...(hold && { hold: 1 }),
  }) as Limiter
}

const countIn = (decision: object): unknown =>
  'limits' in decision ? (decision.limits as { instances?: number }[])[0]?.instances : decision

describe('the processes that share a partition, in Redis', () => {
  it('take 12 bytes each, under a key of their own that lasts as long as they may count', async () => {
    const limiter = limiterFor()
    for (let i = 0; i < 20; i += 1) await limiter.consume('one', { instance: `p${i}` })
    expect(await redis.keys('*')).toEqual(expect.arrayContaining(['rl1:{client:one}', 'rl1:{client:one}|n']))
    expect(await redis.strlen('rl1:{client:one}|n')).toBe(20 * 12)
    const ttl = await redis.pttl('rl1:{client:one}|n')
    // 20 processes, each for three units of its part of the day's quota: 2.6 s a unit, rounded up.
    expect(ttl).toBeGreaterThan(50_000)
    expect(ttl).toBeLessThanOrEqual(20 * 2592 + 500)
    await limiter.close()
  })

  it('are at most 256 and gone after ten minutes, whoever calls', async () => {
    const limiter = limiterFor()
    await Promise.all(Array.from({ length: 400 }, (_, i) => limiter.consume('one', { instance: `p${i}` })))
    expect(await redis.strlen('rl1:{client:one}|n')).toBe(256 * 12)
    expect(await redis.pttl('rl1:{client:one}|n')).toBeLessThanOrEqual(600_500)
    await limiter.close()
  })

  it('are not written down again for every call', async () => {
    const limiter = limiterFor()
    await limiter.consume('one', { instance: 'a' })
    const before = await redis.getBuffer('rl1:{client:one}|n')
    await limiter.consume('one', { instance: 'a' })
    expect(await redis.getBuffer('rl1:{client:one}|n')).toEqual(before)
    await limiter.close()
  })

  it.each([
    ['a list', () => redis.rpush('rl1:{client:one}|n', 'x')],
    ['a text', () => redis.set('rl1:{client:one}|n', 'not a set of processes')],
    ['a text too long', () => redis.set('rl1:{client:one}|n', 'x'.repeat(12 * 300))],
    ['noise', () => redis.set('rl1:{client:one}|n', Buffer.alloc(12 * 5, 0xff))],
  ])('begin afresh, and change no decision, where %s stands in their place', async (_, plant) => {
    const limiter = limiterFor()
    await plant()
    const decision = await limiter.consume('one', { instance: 'a' })
    expect(decision).toMatchObject({ outcome: 'admitted', limits: [{ available: 999 }, {}] })
    expect(countIn(await limiter.consume('one', { instance: 'b' }))).toBeLessThanOrEqual(7)
    expect(await redis.pttl('rl1:{client:one}|n')).toBeGreaterThan(0)
    await limiter.close()
  })

  it('are counted in calls that travel together, each by its own name', async () => {
    const limiter = limiterFor(true)
    const calls = Array.from({ length: 64 }, (_, i) =>
      limiter.consume(`p${i % 4}`, i < 32 ? { instance: `i${i % 8}` } : {}),
    )
    // Of eight processes each partition is called by two.
    expect((await Promise.all(calls)).slice(-4).map(countIn)).toEqual([2, 2, 2, 2])
    await limiter.close()
  })
})
