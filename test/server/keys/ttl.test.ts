import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterSettings,
  type Policy,
  type Reply,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
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
/** For ten minutes a process counts at most; and half a second in which it is not written down again. */
const CROWD_MS = 600_500
const call = { cost: { p: 2 }, scope: 'GET /' }

function open(
  kept: readonly Kept[],
  settings: LimiterSettings & { candidate?: readonly Policy[] } = {},
): Limiter {
  const limiter = createLimiter({
    policies: kept.map(({ policy }) => policy),
    store: redisStore(redis, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    blocks: true,
    denyCache: false,
    idSeconds: ID_S,
    ...settings,
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

/** The longest that a key may live, by what it holds; the instant that Redis is told is rounded up to a ms. */
function longest(key: string, kept: readonly Kept[], inDebt: boolean): number {
  if (key.includes('|id:')) return ID_S * 1000
  if (key.endsWith('|!')) return BLOCK_S * 1000
  if (key.endsWith('|n')) return CROWD_MS
  return Math.max(...kept.map(({ longestMs, inDebtMs }) => (inDebt ? inDebtMs : longestMs))) + 1
}

async function expectLives(kept: readonly Kept[], inDebt: boolean, after: string): Promise<void> {
  for (const [key, ms] of await lives()) {
    expect(ms, `${key} after ${after}`).toBeGreaterThan(0)
    expect(ms, `${key} after ${after}`).toBeLessThanOrEqual(longest(key, kept, inDebt))
  }
}

const alone = [false, true].flatMap((perScope) =>
  Object.entries(policiesKept({ perScope })).map(
    ([name, kept]) => [perScope ? `${name} per scope` : name, [kept]] as const,
  ),
)

describe('every key lives for as long as what it holds says something, and no longer', () => {
  /** Asks everything; which keys there were. */
  async function askAll(limiter: Limiter, kept: readonly Kept[]): Promise<readonly string[]> {
    const written = new Set<string>()
    let inDebt = false
    for (const [name, run] of operations) {
      inDebt ||= name === 'a debt'
      await run(limiter)
      await expectLives(kept, inDebt, name)
      for (const key of (await lives()).keys()) written.add(key)
    }
    return [...written]
  }

  it.each(alone)('whatever is asked of a %s', async (_, kept) => {
    const written = await askAll(open(kept), kept)
    expect(written.some((key) => !/[|](id:|!)/.test(key))).toBe(true)
    expect(written.some((key) => key.includes('|id:'))).toBe(true)
    expect(written.some((key) => key.endsWith('|!'))).toBe(true)
  })

  it('whatever is asked where processes are counted', async () => {
    const kept = [policiesKept()['token bucket'] as Kept]
    const limiter = open(kept, { countInstances: true })
    let instances = 0
    const named = (ask: Limiter['consume']): Limiter['consume'] => {
      return (who, options) => ask(who, { ...options, instance: `i${instances++ % 3}` })
    }
    const counting = { ...limiter, consume: named(limiter.consume), peek: named(limiter.peek) }
    const written = await askAll(counting, kept)
    expect(written.filter((key) => key.endsWith('|n')).length).toBeGreaterThan(3)
  })

  const live = policiesKept({ name: 'live' })['token bucket'] as Kept

  it('whatever is asked where policies of all kinds are tried beside', async () => {
    const shadows = Object.entries(policiesKept()).map(([name]) => {
      const form = { name: name.replaceAll(' ', '-'), shadow: true }
      return policiesKept(form)[name] as Kept
    })
    const own = policiesKept()['token bucket'] as Kept
    const written = await askAll(open([own, ...shadows]), [own, ...shadows])
    expect(written).toEqual(
      expect.arrayContaining([expect.stringMatching('[|]log:'), expect.stringMatching('[|]lease:')]),
    )
  })

  it.each(Object.entries(policiesKept()))(
    'whatever is asked where a %s is tried instead',
    async (_, kept) => {
      const written = await askAll(open([live, kept], { candidate: [kept.policy] }), [live, kept])
      expect(written.length).toBeGreaterThan(3)
    },
  )

  it('whatever is asked where calls are held for units that come', async () => {
    const [windowSeconds, hold] = [5, 10]
    const until = (seconds: number) => ({ longestMs: seconds * 1000, inDebtMs: 2 * seconds * 1000 })
    const window = { name: 'p', quota: QUOTA, windowSeconds }
    const rows: readonly Kept[] = [
      {
        policy: tokenBucket({ name: 'p', capacity: QUOTA, refillPerSecond: QUOTA / windowSeconds }),
        ...until(windowSeconds + hold),
      },
      { policy: fixedWindow(window), ...until(2 * windowSeconds) },
      { policy: fixedWindow({ ...window, anchor: 'first-request' }), ...until(2 * windowSeconds) },
    ]
    for (const kept of rows) {
      await redis.flushall()
      const limiter = open([kept], { hold })
      const calls = await Promise.all([1, 2].map(() => limiter.consume('held', { cost: QUOTA })))
      expect(calls.map((one) => one.outcome === 'admitted' && one.delaySeconds > 0)).toEqual([false, true])
      await expectLives([kept], false, 'a held call')
      await askAll(limiter, [kept])
    }
  })

  it.each([
    ['a token bucket', policiesKept()['token bucket'] as Kept],
    ['a fixed window', policiesKept()['fixed window'] as Kept],
    ['a window from the first request', policiesKept()['fixed window from the first request'] as Kept],
  ])('whatever is taken ahead of %s', async (_, kept) => {
    const LASTS_S = 20
    const store = redisStore(redis, { timeoutMs: 20_000 })
    onTestFinished(() => store.close())
    const owner = { kind: 'client', value: 'c' }
    let held = { endsUs: 0, units: 0, spent: 0 }
    const steps: readonly (readonly [want: number, spent: number, keep: boolean])[] = [
      [3, 0, true],
      [2, 1, true],
      [9, 2, true],
      [0, 1, true],
      [2, 0, false],
      [0, 0, false],
    ]
    let ahead = 0
    for (const [want, spent, keep] of steps) {
      // What gives more writes, and so heals.
      if (want > 0) await loseLives()
      const advance = { policy: kept.policy as never, owner, held: { ...held, spent }, keep, want }
      const op = { kind: 'advance', advance: { ...advance, share: 2, lastsUs: LASTS_S * 1e6 } } as const
      const [reply] = (await store.run([op], 20_000)) as readonly [Reply]
      const [given = 0, left = 0, endsUs = 0] = reply.readings[0] ?? []
      held = { endsUs, units: given + left, spent: 0 }
      await expectLives([kept], false, `an advance of ${want}`)
      // An end is rounded up, by at most half as long.
      for (const [key, ms] of await lives())
        if (key.includes('|ahead:')) {
          ahead += 1
          expect(ms).toBeLessThanOrEqual(1.5 * LASTS_S * 1000)
        }
    }
    expect(ahead > 0).toBe(kept.policy.algorithm === 'token-bucket')
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

  it('of places too that processes hold for different times, whoever takes or renews one last', async () => {
    const limiters = [600, 1].map((leaseSeconds) =>
      open([{ policy: concurrency({ name: 'p', limit: 9, leaseSeconds }), longestMs: 0, inDebtMs: 0 }]),
    )
    for (const limiter of limiters) await limiter.renew(await limiter.consume('c'))
    const [ms] = [...(await lives()).values()]
    expect(ms).toBeGreaterThan(500_000)
    expect(ms).toBeLessThanOrEqual(600_000)
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

  it('of the processes that share a partition, at the call of one that has not called just now', async () => {
    const limiter = open([policiesKept()['token bucket'] as Kept], { countInstances: true })
    await limiter.consume('c', { instance: 'one' })
    await loseLives()
    await limiter.consume('c', { instance: 'other' })
    await expectLives([policiesKept()['token bucket'] as Kept], false, 'a call')
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
