import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Policy,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { startRedis, type TestRedis } from '../../redis.js'

let server: TestRedis
let prefixes = 0
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const stores: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore({ clock: { now: () => 1_796_256_000_000 } }),
  Redis: () => {
    prefixes += 1
    return redisStore(server.client(), { prefix: `t${prefixes}:`, timeoutMs: 20_000 })
  },
}

/** Shards in turn, or such as are told. */
function turns(order: readonly number[], of: number): () => number {
  let nth = -1
  return () => {
    nth += 1
    return ((order[nth % order.length] ?? 0) + 0.5) / of
  }
}

const day = { windowSeconds: 86_400 * 30 }
const policies: Readonly<Record<string, Policy>> = {
  'token bucket': tokenBucket({ name: 'p', capacity: 43, refillPerSecond: 1e-5 }),
  'leaky bucket': leakyBucket({ name: 'p', capacity: 43, leakPerSecond: 1e-5 }),
  'fixed window': fixedWindow({ name: 'p', quota: 43, ...day }),
  'sliding window log': slidingWindowLog({ name: 'p', quota: 43, ...day }),
  'sliding window counter': slidingWindowCounter({ name: 'p', quota: 43, ...day }),
}

async function outcomes(calls: number, call: (n: number) => Promise<Decision>): Promise<string[]> {
  const said: string[] = []
  for (let n = 0; n < calls; n += 1) said.push((await call(n)).outcome)
  return said
}

describe.each(Object.entries(stores))('shards in %s', (_, open) => {
  it.each(Object.entries(policies))(
    'keep the whole quota between them, and no more: %s',
    async (_name, policy) => {
      const limiter = createLimiter({
        policies: [policy],
        store: open(),
        shards: { client: 4 },
        random: turns([0, 1, 2, 3], 4),
        denyCache: false,
        onStoreFailure: 'closed',
      })
      const said = await outcomes(100, () => limiter.consume('hot'))
      // Each call that is refused has tried two shards, which are taken in turn, so that all are tried.
      expect(said.filter((outcome) => outcome === 'admitted')).toHaveLength(43)
      expect(new Set(said.slice(60))).toEqual(new Set(['refused']))
      await limiter.close()
    },
  )

  it('state the whole partition as far as one shard tells', async () => {
    const { policies: own, store } = { policies: [policies['fixed window'] as Policy], store: open() }
    const limiter = createLimiter({ policies: own, store, shards: { client: 4 }, random: turns([3], 4) })
    const decision = await limiter.consume('hot')
    // The last of four shards has 10 of the 43 units, of which 9 are left.
    expect(decision).toMatchObject({ limits: [{ quota: 43, available: 36, cost: 1 }], source: 'store' })
    expect(decision).toMatchObject({ limits: [{ windowSeconds: 86_400 * 30 }] })
    const first = createLimiter({ policies: own, store, shards: { client: 4 }, random: turns([0], 4) })
    expect(await first.peek('hot')).toMatchObject({ limits: [{ available: 43 }] })
    await limiter.close()
  })

  it('try one other when the first refuses, and are refused when that does too', async () => {
    const random = turns([0, 0], 4)
    const limiter = createLimiter({
      policies: [policies['token bucket'] as Policy],
      store: open(),
      shards: { client: 4 },
      random,
    })
    // The first has 11 units, the one after it as many.
    const said = await outcomes(24, () => limiter.consume('hot'))
    expect(said.lastIndexOf('admitted')).toBe(21)
    const refused = await limiter.consume('hot')
    expect(refused).toMatchObject({
      outcome: 'refused',
      violated: ['p'],
      limits: [{ quota: 43, available: 0 }],
    })
    await limiter.close()
  })

  it('give back to the shard that was charged, and forget all when they are reset', async () => {
    const limiter = createLimiter({
      policies: [policies['fixed window'] as Policy],
      store: open(),
      shards: { client: 4 },
      random: turns([2, 1], 4),
    })
    const decision = await limiter.consume('hot', { cost: 5 })
    expect(await limiter.refund(decision)).toBe(true)
    await limiter.consume('hot', { cost: 5 })
    await limiter.consume('hot', { cost: 5 })
    await limiter.reset('hot')
    const looks = [await limiter.peek('hot'), await limiter.peek('hot')]
    expect(looks).toMatchObject([{ limits: [{ available: 43 }] }, { limits: [{ available: 43 }] }])
    await limiter.close()
  })

  it('count a call once by its id, and block the whole partition', async () => {
    const limiter = createLimiter({
      policies: [policies['fixed window'] as Policy],
      store: open(),
      shards: { client: 4 },
      blocks: true,
    })
    await limiter.consume('hot', { id: 'one' })
    expect(await limiter.consume('hot', { id: 'one' })).toMatchObject({ replayed: true })
    await limiter.block('hot', 60)
    expect(new Set(await outcomes(12, () => limiter.consume('hot')))).toEqual(new Set(['blocked']))
    expect(await limiter.unblock('hot')).toBe(true)
    expect(new Set(await outcomes(12, () => limiter.consume('hot')))).toEqual(new Set(['admitted']))
    await limiter.close()
  })

  it('are counted apart in this process too while the store is gone', async () => {
    const store = open()
    const limiter = createLimiter({
      policies: [policies['fixed window'] as Policy],
      store: { ...store, run: () => Promise.reject(new Error('gone')) },
      shards: { client: 4 },
      random: turns([0, 1, 2, 3], 4),
      onStoreFailure: { local: { instances: 1 } },
    })
    const first = await limiter.consume('hot')
    expect(first).toMatchObject({ source: 'local', limits: [{ quota: 43 }] })
    const said = await outcomes(100, () => limiter.consume('hot'))
    expect(said.filter((outcome) => outcome === 'admitted')).toHaveLength(42)
    await limiter.close()
    await store.close()
  })

  it('cut only partitions of their kind, and all policies of a call are decided together', async () => {
    const limiter = createLimiter({
      policies: [
        fixedWindow({ name: 'each', quota: 40, ...day }),
        fixedWindow({ name: 'all', quota: 7, by: 'account', ...day }),
      ],
      store: open(),
      shards: { client: 4 },
    })
    const said = await outcomes(20, (n) => limiter.consume({ client: `c${n}`, account: 'a' }))
    expect(said.filter((outcome) => outcome === 'admitted')).toHaveLength(7)
    expect(said.indexOf('refused')).toBe(7)
    await limiter.close()
  })
})

it('a partition is taken for no shard of another, whatever it is called', async () => {
  const store = stores.Redis?.() as Store
  const policy = policies['fixed window'] as Policy
  const cut = createLimiter({ policies: [policy], store, shards: { client: 4 }, random: turns([3], 4) })
  const whole = createLimiter({ policies: [policy], store })
  await cut.consume('a', { cost: 5 })
  for (const who of ['a', 'a#3', 'a%233', '#3'])
    expect(await whole.peek(who)).toMatchObject({ limits: [{ available: 43 }] })
  const keys = await server.client().keys(`t${prefixes}:*`)
  expect(keys).toEqual([expect.stringMatching(/\{client:a#3\}/)])
  await cut.close()
})

describe('shards are refused when the limiter is built', () => {
  const burst = tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 10 })
  const limiter = (changes: object) => () => createLimiter({ policies: [burst], ...changes } as never)
  it.each([
    [limiter({ shards: 8 }), 'Expected shards to be an object, got 8'],
    [limiter({ shards: { account: 8 } }), 'Unknown option "account" of shards; it takes client'],
    [limiter({ shards: { client: 1 } }), 'Expected shards.client to be a whole number from 2 to 256, got 1'],
    [limiter({ shards: { client: 2.5 } }), 'got 2.5'],
    [
      limiter({ shards: { client: 11 } }),
      'Expected the quota of policy "burst" to be at least 10 for each of 11 shards, got 100',
    ],
    [limiter({ shards: { client: 4 }, leases: {} }), 'shards and leases exclude each other'],
    [
      limiter({ shards: { client: 4 }, store: { ...memoryStore(), slotBy: 'account' } }),
      'shards and slotBy of the store exclude each other',
    ],
    [
      limiter({
        shards: { client: 4 },
        policies: [concurrency({ name: 'places', limit: 100, leaseSeconds: 1 })],
      }),
      'shards cut no bound on concurrency, such as policy "places"',
    ],
    [
      limiter({
        shards: { client: 8 },
        policies: [tokenBucket({ name: 'slow', capacity: 100, refillPerSecond: 1e-6 })],
      }),
      'Expected refillPerSecond / shards of policy "slow" to be a number from 1 per 31 days',
    ],
    [limiter({ random: 1 }), 'Expected random to be a function, got 1'],
  ])('case %#', (build, message) => {
    expect(build).toThrow(message)
  })

  it('and a cost above the part of one shard never passes', async () => {
    const limiter = createLimiter({ policies: [burst], shards: { client: 4 } })
    expect(await limiter.consume('a', { cost: 26 })).toMatchObject({
      outcome: 'impossible',
      violated: ['burst'],
    })
    expect(await limiter.consume('a', { cost: 25 })).toMatchObject({ outcome: 'admitted' })
  })
})
