import { concurrency, createLimiter, type LimiterSettings, tokenBucket } from '@ratepact/server'
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

const slow = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 0.01 })

function open(settings: LimiterSettings = {}) {
  const limiter = createLimiter({
    policies: [slow],
    store: redisStore(redis, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    ...settings,
  })
  onTestFinished(() => limiter.close())
  return limiter
}

describe('a refusal', () => {
  it('is repeated without asking Redis, and its wait goes on falling', async () => {
    const limiter = open({ denyCacheMaxSeconds: 60 })
    await limiter.consume('a', { cost: 10 })
    const first = await limiter.consume('a')
    const again = await limiter.consume('a')
    expect([first.source, again.source]).toEqual(['store', 'deny-cache'])
    if (first.outcome !== 'refused' || again.outcome !== 'refused') throw new Error('not refused')
    expect(again.retryAfterSeconds).toBeLessThanOrEqual(first.retryAfterSeconds + 0.05)
    expect(again).toMatchObject({
      violated: ['burst'],
      limits: [{ available: 0, effectiveWindowSeconds: 100, allowed: false }],
    })
  })

  it('is repeated for what costs as much or more, not for less', async () => {
    const limiter = open({ denyCacheMaxSeconds: 60 })
    await limiter.consume('a', { cost: 8 })
    expect(await limiter.consume('a', { cost: 5 })).toMatchObject({ outcome: 'refused', source: 'store' })
    expect(await limiter.consume('a', { cost: 6 })).toMatchObject({
      outcome: 'refused',
      source: 'deny-cache',
    })
    expect(await limiter.consume('a', { cost: 2 })).toMatchObject({ outcome: 'admitted', source: 'store' })
  })

  it('of one client is no refusal of another, or in another scope', async () => {
    const each = tokenBucket({ name: 'each', capacity: 1, refillPerSecond: 0.01, perScope: true })
    const limiter = createLimiter({ policies: [each], store: redisStore(redis, { timeoutMs: 20_000 }) })
    onTestFinished(() => limiter.close())
    const call = async (who: string, scope: string) => (await limiter.consume(who, { scope })).outcome
    expect([await call('a', 'x'), await call('a', 'x'), await call('b', 'x'), await call('a', 'y')]).toEqual([
      'admitted',
      'refused',
      'admitted',
      'admitted',
    ])
  })

  it('is forgotten when this limiter gives something back', async () => {
    const limiter = open({ denyCacheMaxSeconds: 60, blocks: true })
    const all = await limiter.consume('a', { cost: 10 })
    const refused = async () => expect(await limiter.consume('a')).toMatchObject({ outcome: 'refused' })
    await refused()
    await limiter.refund(all, 1)
    expect(await limiter.consume('a')).toMatchObject({ outcome: 'admitted' })
    await refused()
    await limiter.settle(all, 8)
    expect(await limiter.consume('a')).toMatchObject({ outcome: 'admitted' })
    await refused()
    await limiter.block('a', 'forever')
    expect(await limiter.consume('a')).toMatchObject({ outcome: 'blocked' })
    await limiter.unblock('a')
    await limiter.reset('a')
    expect(await limiter.consume('a')).toMatchObject({ outcome: 'admitted' })
  })

  it('is repeated no longer than told, so that what is given back elsewhere is noticed', async () => {
    const [one, other] = [open({ denyCacheMaxSeconds: 0.2 }), open()]
    await one.consume('a', { cost: 10 })
    expect((await one.consume('a')).source).toBe('store')
    await other.reset('a')
    const since = performance.now()
    while (!(await one.consume('a')).allowed) expect(performance.now() - since).toBeLessThan(10_000)
    expect(performance.now() - since).toBeGreaterThan(100)
  })

  it('is not repeated when a place or an id decides', async () => {
    const running = concurrency({ name: 'running', limit: 1, leaseSeconds: 60 })
    const limiter = createLimiter({ policies: [running], store: redisStore(redis, { timeoutMs: 20_000 }) })
    onTestFinished(() => limiter.close())
    await limiter.consume('a')
    expect([(await limiter.consume('a')).source, (await limiter.consume('a')).source]).toEqual([
      'store',
      'store',
    ])
    const ids = open({ denyCacheMaxSeconds: 60 })
    await ids.consume('b', { cost: 10, id: '1' })
    expect((await ids.consume('b')).outcome).toBe('refused')
    expect(await ids.consume('b', { cost: 10, id: '1' })).toMatchObject({ replayed: true })
  })

  it('always asks Redis with denyCache off', async () => {
    const limiter = open({ denyCache: false })
    await limiter.consume('a', { cost: 10 })
    expect([(await limiter.consume('a')).source, (await limiter.consume('a')).source]).toEqual([
      'store',
      'store',
    ])
  })
})

it('lets exactly the quota pass, however many ask', async () => {
  const limiter = open({ denyCacheMaxSeconds: 60 })
  let admitted = 0
  for (let round = 0; round < 20; round += 1) {
    const calls = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('a')))
    admitted += calls.filter(({ allowed }) => allowed).length
  }
  expect(admitted).toBe(10)
})

it.each([
  [{ denyCache: 'no' }, 'Expected denyCache to be one of true, false, got "no"'],
  [
    { denyCacheMaxSeconds: -1 },
    'Expected denyCacheMaxSeconds to be a number of seconds from 0 to 3600, got -1',
  ],
  [{ idSeconds: 0 }, 'Expected idSeconds to be a number of seconds from 1 to 86400, got 0'],
  [{ blocks: 1 }, 'Expected blocks to be one of true, false, got 1'],
])('a limiter refuses %j', (settings, message) => {
  expect(() => createLimiter({ policies: [slow], ...settings } as never)).toThrow(message)
})
