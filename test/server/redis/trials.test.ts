import { createLimiter, fixedWindow, type LimiterEvent, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'

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

const bucket = (name: string, capacity: number, shadow = false) =>
  tokenBucket({ name, capacity, refillPerSecond: 0.001, shadow })
const open = () => redisStore(redis, { timeoutMs: 20_000 })

async function scriptCalls(): Promise<number> {
  const stats = await redis.info('commandstats')
  return ['evalsha', 'eval'].reduce((sum, name) => {
    const calls = new RegExp(`cmdstat_${name}:calls=(\\d+),.*failed_calls=(\\d+)`).exec(stats)
    return sum + Number(calls?.[1] ?? 0) - Number(calls?.[2] ?? 0)
  }, 0)
}

describe('what is tried', () => {
  it('costs no further trip and no further key', async () => {
    const limiter = createLimiter({
      policies: [bucket('live', 9), bucket('new', 5, true)],
      candidate: [bucket('live', 3), fixedWindow({ name: 'daily', quota: 3, windowSeconds: 86_400 })],
      store: open(),
    })
    onTestFinished(() => limiter.close())
    const first = await limiter.consume('a')
    const before = await scriptCalls()
    expect((await limiter.consume('a')).shadow).toMatchObject([{ allowed: true }, { allowed: true }])
    expect((await scriptCalls()) - before).toBe(1)
    // Both receipts of a refund leave together too.
    await limiter.refund(first)
    expect((await scriptCalls()) - before).toBe(2)
    expect(await redis.keys('*')).toEqual(['rl1:{client:a}'])
  })

  it('is healed where it cannot be read, and told of by name', async () => {
    const events: LimiterEvent[] = []
    const limiter = createLimiter({
      policies: [bucket('live', 9)],
      candidate: [bucket('more', 3)],
      store: open(),
      onEvent: (event) => events.push(event),
    })
    onTestFinished(() => limiter.close())
    await redis.lpush('rl1:{client:a}', 'x')
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, shadow: [{ allowed: true }] })
    expect(events).toMatchObject([
      { type: 'healed', policy: 'live' },
      { type: 'healed', policy: 'more' },
    ])
  })
})

describe('a refusal that this process repeats', () => {
  it('is none where a candidate is to be asked: it may see the call otherwise', async () => {
    const limiter = createLimiter({
      policies: [bucket('live', 1)],
      candidate: [bucket('live', 3)],
      store: open(),
      denyCacheMaxSeconds: 60,
    })
    onTestFinished(() => limiter.close())
    const decisions = []
    for (let i = 0; i < 5; i += 1) decisions.push(await limiter.consume('a'))
    expect(decisions.map(({ source }) => source)).toEqual(Array.from({ length: 5 }, () => 'store'))
    expect(decisions.map(({ shadow }) => shadow[0]?.allowed)).toEqual([true, true, true, false, false])
  })

  it('stays one beside a shadow, which would not have been charged, and says nothing of it', async () => {
    const limiter = createLimiter({
      policies: [bucket('live', 1), bucket('new', 5, true)],
      store: open(),
      denyCacheMaxSeconds: 60,
    })
    onTestFinished(() => limiter.close())
    await limiter.consume('a')
    expect(await limiter.consume('a')).toMatchObject({ source: 'store', shadow: [{ allowed: true }] })
    expect(await limiter.consume('a')).toMatchObject({ source: 'deny-cache', shadow: [] })
    expect((await limiter.peek('a', { id: 'asks' })).shadow).toMatchObject([{ limits: [{ available: 4 }] }])
  })

  it('is one again for the plans without a candidate', async () => {
    const limiter = createLimiter({
      plans: { free: [bucket('burst', 1)], pro: [bucket('fast', 1)] },
      candidate: { free: [bucket('burst', 2)] },
      store: open(),
      denyCacheMaxSeconds: 60,
    })
    onTestFinished(() => limiter.close())
    const sources = async (plan: 'free' | 'pro') => {
      const said: string[] = []
      for (let i = 0; i < 3; i += 1) said.push((await limiter.consume('a', { plan })).source)
      return said
    }
    expect(await sources('free')).toEqual(['store', 'store', 'store'])
    expect(await sources('pro')).toEqual(['store', 'store', 'deny-cache'])
  })
})
