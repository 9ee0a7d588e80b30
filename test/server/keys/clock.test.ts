import {
  createLimiter,
  fixedWindow,
  type Limiter,
  type LimiterSettings,
  type Op,
  type Policy,
  type Reply,
  type Store,
  type TokenBucketPolicy,
  tokenBucket,
} from '@ratepact/server'
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
  type Settings = LimiterSettings & { readonly candidate?: readonly Policy[] }

  function open({ policy }: Pick<Kept, 'policy'>, clock: HandClock, settings: Settings = {}): Limiter {
    const limiter = createLimiter({
      policies: [policy],
      store: store(clock),
      onStoreFailure: 'closed',
      denyCache: false,
      blocks: true,
      idSeconds: ID_S,
      ...settings,
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

  it.each(Object.entries(policiesKept()))(
    'judges a candidate, a %s that was used up an hour ahead, neither so that all passes nor nothing',
    async (_name, { policy }) => {
      const clock = handClock()
      const live = tokenBucket({ name: 'live', capacity: 1e6, refillPerSecond: 1 })
      const limiter = open({ policy: live }, clock, { candidate: [policy] })
      clock.nowUs += HOUR * 1e6
      expect((await limiter.consume('c', { cost: { p: QUOTA } })).shadow[0]?.allowed).toBe(true)
      clock.nowUs -= HOUR * 1e6
      const passed = async (seconds: number) => {
        let admitted = 0
        for (let at = 0; at < seconds; at += 10) {
          if ((await limiter.consume('c', one)).shadow[0]?.allowed) admitted += 1
          clock.nowUs += 10e6
        }
        return admitted
      }
      expect(await passed(WINDOW)).toBeLessThanOrEqual(QUOTA)
      expect(await passed(2 * WINDOW)).toBeGreaterThanOrEqual(1)
    },
  )

  const numbers = { name: 'p', quota: QUOTA, windowSeconds: 10 }
  it.each([
    ['bucket', tokenBucket({ name: 'p', capacity: QUOTA, refillPerSecond: QUOTA / 10 })],
    ['window', fixedWindow(numbers)],
    ['window from the first request', fixedWindow({ ...numbers, anchor: 'first-request' })],
  ])('holds calls for a %s no longer than it may, and for no more units than come', async (_name, policy) => {
    const clock = handClock()
    clock.nowUs += 3e6
    const limiter = open({ policy }, clock, { hold: 10 })
    clock.nowUs += HOUR * 1e6
    // As much as there is, and as much again that is held.
    for (const held of [false, true]) {
      const decision = await limiter.consume('c', { cost: QUOTA })
      expect(decision.outcome === 'admitted' && decision.delaySeconds > 0).toBe(held)
    }
    clock.nowUs -= HOUR * 1e6
    let passed = 0
    for (let seconds = 0; seconds < 60; seconds += 1) {
      const decision = await limiter.consume('c')
      if (decision.outcome === 'admitted') {
        passed += 1
        expect(decision.delaySeconds).toBeLessThanOrEqual(10)
      } else if (decision.outcome === 'refused') expect(decision.retryAfterSeconds).toBeLessThanOrEqual(20)
      clock.nowUs += 1e6
    }
    // Six windows, of which those that were used up an hour ahead are one or two; and those held for what comes after.
    expect(passed).toBeGreaterThanOrEqual(4 * QUOTA)
    expect(passed).toBeLessThanOrEqual(8 * QUOTA)
  })

  it('counts processes seen an hour ahead for no longer than those seen now', async () => {
    const clock = handClock()
    const limiter = open(token, clock, { countInstances: true })
    const count = async (instance: string) => {
      const decision = await limiter.consume('c', { instance, cost: 0 })
      return 'limits' in decision ? decision.limits[0]?.instances : undefined
    }
    clock.nowUs += HOUR * 1e6
    expect([await count('a'), await count('b')]).toEqual([1, 2])
    clock.nowUs -= HOUR * 1e6
    expect(await count('c')).toBe(3)
    clock.nowUs += 2 * WINDOW * 1e6
    expect(await count('c')).toBe(1)
  })

  it('takes back the units that were taken ahead an hour ahead', async () => {
    const clock = handClock()
    const ahead = store(clock)
    const policy = token.policy as TokenBucketPolicy
    const ask = async (held: { endsUs: number; units: number; spent: number }) => {
      const about = { policy, owner: { kind: 'client', value: 'c' }, held, keep: true, want: QUOTA }
      const op: Op = { kind: 'advance', advance: { ...about, share: 1, lastsUs: 20e6 } }
      const [reply] = (await ahead.run([op], 20_000)) as readonly Reply[]
      return reply?.readings[0] ?? []
    }
    clock.nowUs += HOUR * 1e6
    const [given = 0, , endsUs = 0] = await ask({ endsUs: 0, units: 0, spent: 0 })
    // All but what flows back while they are held.
    expect(given).toBe(QUOTA - 1)
    clock.nowUs -= HOUR * 1e6
    // Nothing of it is known, or given twice.
    expect(await ask({ endsUs, units: given, spent: 0 })).toMatchObject([0, 0, {}, {}, 1])
    const limiter = open(token, clock, { store: ahead })
    expect(await admittedWithin(limiter, clock, WINDOW)).toBeLessThanOrEqual(QUOTA)
    expect(await admittedWithin(limiter, clock, 2 * WINDOW)).toBeGreaterThanOrEqual(1)
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
