import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  slidingWindowCounter,
  slidingWindowLog,
} from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
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

const ID_S = 90
const BLOCK_S = 45
const call = { cost: { p: 2 }, scope: 'GET /' }

function open(kept: readonly Kept[]): Limiter {
  const limiter = createLimiter({
    policies: kept.map(({ policy }) => policy),
    store: redisStore(redis, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    blocks: true,
    denyCache: false,
    idSeconds: ID_S,
  }) as Limiter
  onTestFinished(() => limiter.close())
  return limiter
}

/** Everything that can be asked of a limiter, one after another, each after what it is about. */
const operations: readonly (readonly [name: string, run: (limiter: Limiter) => Promise<unknown>])[] = [
  ['looking', (limiter) => limiter.peek('c', call)],
  ['a call of no cost', (limiter) => limiter.consume('c', { ...call, cost: { p: 0 } })],
  ['a call', (limiter) => limiter.consume('c', call)],
  ['a call with an id', (limiter) => limiter.consume('c', { ...call, id: 'i' })],
  ['the same call again', (limiter) => limiter.consume('c', { ...call, id: 'i' })],
  ['a call that uses up the rest', (limiter) => limiter.consume('c', call)],
  ['a refused call', (limiter) => limiter.consume('c', call)],
  ['a refused call with an id', (limiter) => limiter.consume('c', { ...call, id: 'j' })],
  ['an impossible call', (limiter) => limiter.consume('c', { ...call, cost: { p: QUOTA + 1 } })],
  ['looking when all is used up', (limiter) => limiter.peek('c', call)],
  ['a refund in part', async (limiter) => limiter.refund(await limiter.consume('d', call), { p: 1 })],
  ['a refund', async (limiter) => limiter.refund(await limiter.consume('e', call))],
  ['a cheaper settlement', async (limiter) => limiter.settle(await limiter.consume('f', call), { p: 1 })],
  ['a debt', async (limiter) => limiter.settle(await limiter.consume('g', call), { p: 1e6 })],
  ['a renewal', async (limiter) => limiter.renew(await limiter.consume('h', call))],
  ['a release', async (limiter) => limiter.release(await limiter.consume('i', call))],
  ['a second release', (limiter) => releasedTwice(limiter)],
  ['a block', (limiter) => limiter.block('k', BLOCK_S)],
  ['a call that is blocked', (limiter) => limiter.consume('k', { ...call, id: 'i' })],
  ['a longer block', (limiter) => limiter.block('k', BLOCK_S)],
  ['an end of a block', (limiter) => limiter.unblock('k')],
  ['an end of no block', (limiter) => limiter.unblock('l')],
  ['a reset', (limiter) => limiter.reset('c', { scope: 'GET /' })],
  ['a reset of nothing', (limiter) => limiter.reset('m', { scope: 'GET /' })],
]

async function releasedTwice(limiter: Limiter): Promise<void> {
  const first: Decision = await limiter.consume('j', call)
  await limiter.release(first)
  await limiter.release(first)
}

/** How long each key lives, in ms; -1 for ever. */
async function lives(): Promise<ReadonlyMap<string, number>> {
  const keys = await redis.keys('*')
  const times = await Promise.all(keys.map((key) => redis.pttl(key)))
  return new Map(keys.map((key, i) => [key, times[i] ?? -2] as const))
}

/** The longest that a key may live, by what it holds. */
function longest(key: string, kept: readonly Kept[], inDebt: boolean): number {
  if (key.includes('|id:')) return ID_S * 1000
  if (key.endsWith('|!')) return BLOCK_S * 1000
  return Math.max(...kept.map(({ longestMs, inDebtMs }) => (inDebt ? inDebtMs : longestMs)))
}

async function expectLives(kept: readonly Kept[], inDebt: boolean, after: string): Promise<void> {
  for (const [key, ms] of await lives()) {
    expect(ms, `${key} after ${after}`).toBeGreaterThan(0)
    expect(ms, `${key} after ${after}`).toBeLessThanOrEqual(longest(key, kept, inDebt))
  }
}

const alone = [false, true].flatMap((perScope) =>
  Object.entries(policiesKept(perScope)).map(
    ([name, kept]) => [perScope ? `${name} per scope` : name, [kept]] as const,
  ),
)

describe('every key lives for as long as what it holds says something, and no longer', () => {
  it.each(alone)('whatever is asked of a %s', async (_, kept) => {
    const limiter = open(kept)
    const written = new Set<string>()
    let inDebt = false
    for (const [name, run] of operations) {
      inDebt ||= name === 'a debt'
      await run(limiter)
      await expectLives(kept, inDebt, name)
      for (const key of (await lives()).keys()) written.add(key)
    }
    expect([...written].some((key) => !/[|](id:|!)/.test(key))).toBe(true)
    expect([...written].some((key) => key.includes('|id:'))).toBe(true)
    expect([...written].some((key) => key.endsWith('|!'))).toBe(true)
  })

  it('but for a block for ever, which lives until it is ended', async () => {
    const limiter = open(Object.values(policiesKept()).slice(0, 1))
    await limiter.block('c', 'forever')
    await limiter.consume('c')
    expect([...(await lives()).values()]).toEqual([-1])
    await limiter.block('c', BLOCK_S)
    await expectLives([], false, 'a block of some seconds in its place')
    await limiter.block('c', 'forever')
    await limiter.unblock('c')
    expect((await lives()).size).toBe(0)
  })

  it.each([0.001, 0.0015, 0.05])('even where it is over in %d s', async (windowSeconds) => {
    const numbers = { name: 'p', quota: 3, windowSeconds }
    for (const policy of [fixedWindow(numbers), slidingWindowLog(numbers), slidingWindowCounter(numbers)]) {
      const limiter = open([{ policy, longestMs: 0, inDebtMs: 0 }])
      await limiter.consume('c')
      for (const ms of (await lives()).values()) {
        expect(ms).not.toBe(-1)
        expect(ms).toBeLessThanOrEqual(Math.ceil(2 * windowSeconds * 1000))
      }
    }
  })
})

async function loseLives(): Promise<void> {
  for (const key of (await lives()).keys()) await redis.persist(key)
}

describe('a key that has lost its time to live gets it back', () => {
  it.each(alone)('at the next admitted call, of a %s', async (_, kept) => {
    const limiter = open(kept)
    await limiter.consume('c', call)
    await loseLives()
    expect((await limiter.consume('c', call)).outcome).toBe('admitted')
    await expectLives(kept, false, 'a call')
  })

  it('of an id, at the call that asks for it', async () => {
    const limiter = open([policiesKept().concurrency as Kept])
    await limiter.consume('c', { ...call, id: 'i' })
    await loseLives()
    expect(await limiter.consume('c', { ...call, id: 'i' })).toMatchObject({ replayed: true })
    const [id] = [...(await lives())].filter(([key]) => key.includes('|id:'))
    expect(id?.[1]).toBeGreaterThan(0)
    expect(id?.[1]).toBeLessThanOrEqual(ID_S * 1000)
  })
})
