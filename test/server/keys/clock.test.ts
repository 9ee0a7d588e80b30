import { createLimiter, type Limiter, type Store } from '@ratepact/server'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import { type HandClock, handClock, handScripts, memoryOn, redisOn } from '../bounds/hand-clock.js'
import { type Kept, policiesKept, QUOTA } from './policies.js'

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

const stores: readonly (readonly [name: string, open: (clock: HandClock) => Store])[] = [
  ['in memory', memoryOn],
  ['in Redis', (clock) => redisOn(redis, handScripts(clock))],
]

const HOUR = 3600
const WINDOW = 600
const ID_S = 90
const BLOCK_S = 45
const one = { cost: { p: 1 } }

describe.each(stores)('a clock that is set wrong and put right again %s', (_, store) => {
  function open({ policy }: Kept, clock: HandClock): Limiter {
    const limiter = createLimiter({
      policies: [policy],
      store: store(clock),
      onStoreFailure: 'closed',
      denyCache: false,
      blocks: true,
      idSeconds: ID_S,
    }) as Limiter
    onTestFinished(() => limiter.close())
    return limiter
  }

  /** How many calls pass of one every ten seconds, for so long. */
  async function admittedWithin(limiter: Limiter, clock: HandClock, seconds: number): Promise<number> {
    let admitted = 0
    for (let passed = 0; passed < seconds; passed += 10) {
      if ((await limiter.consume('c', one)).allowed) admitted += 1
      clock.nowUs += 10e6
    }
    return admitted
  }

  const token = policiesKept()['token bucket'] as Kept

  it.each(Object.entries(policiesKept()))(
    'neither shuts a client out nor lets it through, whose %s was used up an hour ahead',
    async (_name, kept) => {
      const clock = handClock()
      clock.nowUs += 5e6
      const limiter = open(kept, clock)
      clock.nowUs += HOUR * 1e6
      expect((await limiter.consume('c', { cost: { p: QUOTA } })).outcome).toBe('admitted')
      clock.nowUs -= HOUR * 1e6
      expect(await admittedWithin(limiter, clock, WINDOW)).toBeLessThanOrEqual(QUOTA)
      expect(await admittedWithin(limiter, clock, 2 * WINDOW)).toBeGreaterThanOrEqual(1)
    },
  )

  it.each(Object.entries(policiesKept()))('gives a %s back when the hour has passed', async (_name, kept) => {
    const clock = handClock()
    const limiter = open(kept, clock)
    await limiter.consume('c', { cost: { p: QUOTA } })
    clock.nowUs += HOUR * 1e6
    expect((await limiter.consume('c', { cost: { p: QUOTA } })).outcome).toBe('admitted')
    expect((await limiter.consume('c', one)).outcome).toBe('refused')
  })

  it('blocks nobody for longer than was said', async () => {
    const clock = handClock()
    const limiter = open(token, clock)
    clock.nowUs += HOUR * 1e6
    await limiter.block('c', BLOCK_S)
    clock.nowUs -= HOUR * 1e6
    expect(await limiter.consume('c')).toMatchObject({ outcome: 'blocked', retryAfterSeconds: BLOCK_S })
  })

  it('remembers no admission for longer than from when it was last repeated', async () => {
    const clock = handClock()
    const limiter = open(token, clock)
    clock.nowUs += HOUR * 1e6
    await limiter.consume('c', { id: 'i' })
    clock.nowUs -= HOUR * 1e6
    expect(await limiter.consume('c', { id: 'i' })).toMatchObject({ replayed: true })
    clock.nowUs += ID_S * 1e6
    expect(await limiter.consume('c', { id: 'i' })).toMatchObject({ replayed: false })
  })

  it('is what says that an admission is forgotten and a block over, whatever Redis still holds', async () => {
    const clock = handClock()
    const limiter = open(token, clock)
    await limiter.consume('c', { id: 'i' })
    await limiter.block('d', BLOCK_S)
    for (const key of await redis.keys('*')) await redis.persist(key)
    clock.nowUs += ID_S * 1e6 - 1
    expect(await limiter.consume('c', { id: 'i' })).toMatchObject({ replayed: true })
    clock.nowUs += 1
    expect(await limiter.consume('c', { id: 'i' })).toMatchObject({ replayed: false })
    expect((await limiter.consume('d')).outcome).toBe('admitted')
    for (const key of await redis.keys('*')) expect(await redis.pttl(key), key).toBeGreaterThan(0)
  })
})
