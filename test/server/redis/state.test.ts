import {
  concurrency,
  createLimiter,
  type Limiter,
  type LimiterEvent,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { type RedisStoreOptions, redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 0.1 })
const KEY = 'rl1:{client:a}'

let server: TestRedis
let redis: Redis
const limiters: Limiter[] = []
const events: LimiterEvent[] = []

beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
beforeEach(async () => {
  events.length = 0
  await redis.flushall()
})
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close()
})
afterAll(() => server.stop())

function open(client: Redis = redis, options: RedisStoreOptions = {}, policies = [burst]): Limiter {
  const limiter = createLimiter({
    policies,
    store: redisStore(client, { timeoutMs: 20_000, ...options }),
    onStoreFailure: 'closed',
    onEvent: (event) => events.push(event),
  })
  limiters.push(limiter)
  return limiter
}

async function left(limiter: Limiter, who = 'a', cost = 1): Promise<number | string> {
  const decision = await limiter.consume(who, { cost })
  return decision.outcome === 'admitted' ? (decision.limits[0]?.available ?? -1) : decision.outcome
}

async function scriptCalls(): Promise<number> {
  const stats = await redis.info('commandstats')
  return ['evalsha', 'eval'].reduce((sum, name) => {
    const calls = new RegExp(`cmdstat_${name}:calls=(\\d+),.*failed_calls=(\\d+)`).exec(stats)
    return sum + Number(calls?.[1] ?? 0) - Number(calls?.[2] ?? 0)
  }, 0)
}

describe('what is stored', () => {
  it('lives no longer than the bucket needs to be full again', async () => {
    const limiter = open()
    await left(limiter)
    const one = await redis.pttl(KEY)
    expect(one).toBeGreaterThan(9_000)
    expect(one).toBeLessThanOrEqual(10_001)
    await left(limiter, 'a', 9)
    expect(await redis.pttl(KEY)).toBeLessThanOrEqual(100_001)
    expect(await redis.pttl(KEY)).toBeGreaterThan(98_000)
  })

  it('has a time to live under every key that any call writes', async () => {
    const each = tokenBucket({ name: 'each', capacity: 3, refillPerSecond: 0.5, perScope: true })
    const limiter = open(redis, {}, [burst, each] as never)
    for (const who of ['a', 'b:{}', 'é', 'x'.repeat(1000)]) {
      for (let i = 0; i < 5; i += 1) await limiter.consume(who, { scope: `GET /${who}` })
      await limiter.peek(who)
    }
    await limiter.reset('a', { scope: 'GET /a' })
    const keys = await redis.keys('*')
    expect(keys).toHaveLength(6)
    for (const key of keys) {
      const ttl = await redis.pttl(key)
      expect(ttl).toBeGreaterThan(0)
      expect(ttl).toBeLessThanOrEqual(100_001)
    }
  })

  it('is not written by a refusal, by looking, or by a cost of nothing', async () => {
    const limiter = open()
    await limiter.peek('a')
    await left(limiter, 'a', 0)
    expect(await redis.exists(KEY)).toBe(0)
    await left(limiter, 'a', 10)
    const before = await redis.getBuffer(KEY)
    expect(await left(limiter)).toBe('refused')
    expect(await redis.getBuffer(KEY)).toEqual(before)
  })

  it('is gone after a reset', async () => {
    const limiter = open()
    await left(limiter, 'a', 10)
    await limiter.reset('a')
    expect(await redis.exists(KEY)).toBe(0)
  })

  it('gets its lost time to live back at the next call that is admitted', async () => {
    const limiter = open()
    await left(limiter)
    await redis.persist(KEY)
    expect(await left(limiter)).toBe(8)
    expect(await redis.pttl(KEY)).toBeGreaterThan(0)
  })

  it('is right without its time to live: an old bucket is full', async () => {
    const quick = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1000 })
    const limiter = open(redis, {}, [quick])
    await left(limiter, 'a', 10)
    await redis.persist(KEY)
    await until('the bucket is full', async () => (await left(limiter, 'a', 10)) === 0)
    expect(await redis.pttl(KEY)).not.toBe(-1)
  })

  it.each<[string, () => Promise<unknown>]>([
    ['a list', () => redis.lpush(KEY, 'x')],
    ['a hash', () => redis.hset(KEY, 'x', 'y')],
    ['a text of another length', () => redis.set(KEY, 'hello')],
    ['a long text of another length', () => redis.set(KEY, 'x'.repeat(100_000))],
  ])(
    'is begun afresh where %s stands under its key, and the neighbours in its batch are not harmed',
    async (_, plant) => {
      const limiter = open()
      await left(limiter, 'b', 3)
      await plant()
      const calls = [left(limiter, 'b'), left(limiter, 'a'), left(limiter, 'c'), left(limiter, 'a')]
      expect(await Promise.all(calls)).toEqual([6, 9, 9, 8])
      expect(await redis.type(KEY)).toBe('string')
      expect(await redis.pttl(KEY)).toBeGreaterThan(0)
      expect(events.filter(({ type }) => type === 'healed')).toEqual([
        { type: 'healed', policy: 'burst', owner: { kind: 'client', value: 'a' }, times: 1 },
      ])
    },
  )

  it.each([0x00, 0x01, 0x7f, 0xff])(
    'never blocks a client for ever, whatever bytes stand in its bucket (%i)',
    async (byte) => {
      const limiter = open()
      await left(limiter)
      const value = (await redis.getBuffer(KEY)) as Buffer
      for (let at = 6; at < value.length; at += 1) {
        const planted = Buffer.from(value)
        planted[at] = byte
        await redis.set(KEY, planted)
        const decision = await limiter.consume('a')
        const wait = decision.outcome === 'refused' ? decision.retryAfterSeconds : 0
        expect(['admitted', 'refused']).toContain(decision.outcome)
        // Sixteen times the capacity is the most that a bucket is believed to owe.
        expect(wait).toBeLessThanOrEqual(1510)
      }
    },
  )
})

describe('the script', () => {
  it('carries the checks of one turn together, at most 32 in a call', async () => {
    const limiter = open()
    await left(limiter)
    const before = await scriptCalls()
    await Promise.all(Array.from({ length: 100 }, (_, i) => left(limiter, `client-${i}`)))
    expect((await scriptCalls()) - before).toBe(4)
  })

  it('is sent again after SCRIPT FLUSH, and the call that found it missing is charged once', async () => {
    const limiter = open()
    expect(await left(limiter)).toBe(9)
    await redis.script('FLUSH')
    expect(await left(limiter)).toBe(8)
    expect(await left(limiter)).toBe(7)
  })

  it('decides about several partitions in one trip', async () => {
    const shared = tokenBucket({ name: 'shared', capacity: 10, refillPerSecond: 1, by: 'account' })
    const limiter = createLimiter({
      policies: [burst, shared],
      store: redisStore(redis, { timeoutMs: 20_000 }),
    })
    limiters.push(limiter as never)
    await limiter.consume({ client: 'a', account: 'x' })
    const before = await scriptCalls()
    await limiter.consume({ client: 'a', account: 'x' })
    expect((await scriptCalls()) - before).toBe(1)
  })
})

describe('the keys', () => {
  it.each([
    ['a', 'rl1:{client:a}'],
    ['user 7', 'rl1:{client:user%207}'],
    ['a}:{b', 'rl1:{client:a%7D%3A%7Bb}'],
    ['\0\n', 'rl1:{client:%00%0A}'],
    ['é', 'rl1:{client:%C3%A9}'],
    ['#', 'rl1:{client:%23}'],
    ['::ffff:1.2.3.4', 'rl1:{client:%3A%3Affff%3A1.2.3.4}'],
  ])('hold %j in a tag that it cannot leave', async (who, key) => {
    await left(open(), who)
    expect(await redis.keys('*')).toEqual([key])
  })

  it('are short, printable and of one tag whatever the identity', async () => {
    const limiter = open()
    for (const who of ['\ud800', 'x'.repeat(1_000_000), '😀'.repeat(1000), '{}'.repeat(50)])
      await left(limiter, who)
    const keys = await redis.keys('*')
    expect(keys).toHaveLength(4)
    for (const key of keys) expect(key).toMatch(/^rl1:\{client:#[\w-]{32}\}$/)
  })

  it('hide every identity with hashPartitions, whatever is kept of a call', async () => {
    const limiter = open(redis, { hashPartitions: true })
    await left(limiter, 'alice')
    expect(await left(limiter, 'alice')).toBe(8)
    expect(await redis.keys('*')).toEqual([expect.stringMatching(/^rl1:\{client:#[\w-]{32}\}$/)])
    // What is remembered of an id is short enough here to be a key as it is.
    await limiter.consume('alice', { id: 'r1' })
    expect((await redis.keys('*|id:*')).filter((key) => /alice|r1/.test(key))).toEqual([])
    expect(await redis.keys('*|id:*')).toHaveLength(1)
    const policies = [
      tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 1 }),
      slidingWindowLog({ name: 'log', quota: 100, windowSeconds: 60 }),
      concurrency({ name: 'places', limit: 100, leaseSeconds: 60, by: 'account' }),
      tokenBucket({ name: 'each', capacity: 100, refillPerSecond: 1, by: 'account', perScope: true }),
    ]
    for (const slotBy of [undefined, 'account']) {
      await redis.flushall()
      const store = redisStore(redis, {
        hashPartitions: true,
        timeoutMs: 20_000,
        ...(slotBy && { slotBy }),
      })
      const rich = createLimiter({ policies, store, blocks: true, countInstances: true })
      limiters.push(rich as never)
      const who = { client: 'alice', account: 'acme' }
      await rich.consume(who, { id: 'one', scope: 'GET /', instance: 'first' })
      await rich.block(who, 60)
      const keys = await redis.keys('*')
      expect(keys.filter((key) => /\|(id:|log:|lease:|n$|!$)/.test(key)).length).toBeGreaterThanOrEqual(5)
      for (const key of keys) {
        const kept = (await redis.dumpBuffer(key))?.toString('latin1')
        expect(`${key} ${kept}`).not.toMatch(/alice|acme/)
      }
    }
  })

  it('begin with the prefix given, and two prefixes do not meet', async () => {
    expect(await left(open(redis, { prefix: 'one' }))).toBe(9)
    expect(await left(open(redis, { prefix: 'two' }))).toBe(9)
    expect((await redis.keys('*')).sort()).toEqual(['one1:{client:a}', 'two1:{client:a}'])
  })
})

describe("the user's client", () => {
  const plain = () => ({ port: server.port, host: '127.0.0.1' })

  it.each([
    ['as it comes', () => ({})],
    ['with a key prefix', () => ({ keyPrefix: 'app:' })],
    ['that pipelines by itself', () => ({ enableAutoPipelining: true })],
    ['that answers numbers as text', () => ({ stringNumbers: true })],
    ['that connects lazily', () => ({ lazyConnect: true })],
    ['without an offline queue', () => ({ enableOfflineQueue: false })],
    ['that never retries', () => ({ maxRetriesPerRequest: 0, retryStrategy: () => null })],
    ['on another database', () => ({ db: 3 })],
  ])('may be one %s', async (_, options) => {
    const client = new Redis({ ...plain(), ...options() })
    client.on('error', () => {})
    try {
      for (const connection of ['own', 'shared'] as const) {
        if (connection === 'shared' && client.status === 'wait') await client.connect()
        const limiter = open(client, { connection, prefix: connection })
        if (connection === 'shared') await until('the client is ready', () => client.status === 'ready')
        expect(await left(limiter)).toBe(9)
        expect(await left(limiter)).toBe(8)
      }
      const prefix = client.options.keyPrefix ?? ''
      await redis.select(client.options.db ?? 0)
      expect(await redis.exists(`${prefix}own1:{client:a}`)).toBe(1)
    } finally {
      await redis.select(0)
      client.disconnect()
    }
  })

  it('is neither closed by the limiter nor needed after the store was made', async () => {
    const client = new Redis(plain())
    const limiter = open(client)
    expect(await left(limiter)).toBe(9)
    await limiter.close()
    expect(await client.ping()).toBe('PONG')
    const other = open(client)
    client.disconnect()
    expect(await left(other)).toBe(8)
  })

  it.each([
    [undefined, 'undefined'],
    ['redis://localhost', '"redis://localhost"'],
    [{}, 'an object'],
    [{ evalsha() {} }, 'an object'],
  ])('is refused when it is not one (%j)', (client, shown) => {
    expect(() => redisStore(client as never)).toThrow(
      `Expected client to be a Redis client (of ioredis or node-redis, or a cluster of either), got ${shown}`,
    )
  })

  it.each([
    [{ timeoutMs: 0 }, 'Expected timeoutMs to be a whole number from 1 to 60000, got 0'],
    [{ timeoutMs: Number.NaN }, 'Expected timeoutMs to be a whole number from 1 to 60000, got NaN'],
    [{ prefix: '' }, 'Expected prefix to be 1 to 64 characters matching'],
    [{ prefix: 'a{b' }, 'Expected prefix to be 1 to 64 characters matching'],
    [{ connection: 'borrowed' }, 'Expected connection to be one of "own", "shared", got "borrowed"'],
    [{ hashPartitions: 'yes' }, 'Expected hashPartitions to be one of true, false, got "yes"'],
    [{ timeout: 5 }, 'Unknown option "timeout" of redisStore'],
  ])('comes with options that are checked (%j)', (options, message) => {
    expect(() => redisStore(redis, options as never)).toThrow(message)
  })
})
