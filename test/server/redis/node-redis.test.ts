import { createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import { type RedisClient, type RedisStoreOptions, redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import { createClient, createClientPool, createSentinel, RESP_TYPES } from 'redis'
import { createClient as createClient5 } from 'redis5'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startProxy } from '../../proxy.js'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 0.001 })

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
beforeEach(() => redis.flushall())
afterAll(() => server.stop())

type Options = Parameters<typeof createClient>[0]

const versions = { 5: createClient5 as unknown as typeof createClient, 6: createClient }
type Version = keyof typeof versions

function clientOf(version: Version, { socket, ...options }: NonNullable<Options> = {}, port = server.port) {
  const client = versions[version]({ ...options, socket: { host: '127.0.0.1', port, ...socket } as never })
  client.on('error', () => {})
  onTestFinished(() => {
    if (client.isOpen) client.destroy()
  })
  return client
}

function open(client: RedisClient, options: RedisStoreOptions = {}): Limiter {
  const limiter = createLimiter({
    policies: [burst],
    store: redisStore(client, { timeoutMs: 20_000, ...options }),
    onStoreFailure: 'closed',
    denyCache: false,
  })
  onTestFinished(() => limiter.close())
  return limiter
}

async function left(limiter: Limiter): Promise<number | string> {
  const decision = await limiter.consume('a')
  return decision.outcome === 'admitted' ? (decision.limits[0]?.available ?? -1) : decision.outcome
}

describe.each([5, 6] as const)('a client of node-redis %d', (version) => {
  const kinds: Record<string, NonNullable<Options>> = {
    'as it comes': {},
    ...(version === 6 && { 'with a key prefix': { keyPrefix: 'app:' } }),
    'of the older protocol': { RESP: 2 },
    'that keeps a cache of its own': {
      RESP: 3,
      clientSideCache: { ttl: 1000, maxEntries: 10, evictPolicy: 'LRU' },
    },
    'that answers numbers as text': { commandOptions: { typeMapping: { [RESP_TYPES.NUMBER]: String } } },
    'without an offline queue': { disableOfflineQueue: true },
    'on another database': { database: 3 },
    'that never reconnects': { socket: { reconnectStrategy: false } },
  }

  it.each(Object.entries(kinds))('may be one %s', async (_, options) => {
    const client = clientOf(version, options)
    expect(await left(open(client, { prefix: 'own' }))).toBe(9)
    await client.connect()
    const shared = open(client, { connection: 'shared', prefix: 'shared' })
    expect([await left(shared), await left(shared)]).toEqual([9, 8])
    await redis.select(options.database ?? 0)
    onTestFinished(() => void redis.select(0))
    const prefix = String(options.keyPrefix ?? '')
    expect((await redis.keys('*')).sort()).toEqual([
      `${prefix}own1:{client:a}`,
      `${prefix}shared1:{client:a}`,
    ])
  })

  it('may be given by its address', async () => {
    const client = versions[version]({ url: `redis://127.0.0.1:${server.port}/2` })
    expect(await left(open(client))).toBe(9)
    await redis.select(2)
    onTestFinished(() => void redis.select(0))
    expect(await redis.exists('rl1:{client:a}')).toBe(1)
  })

  it('is neither closed by the limiter nor needed after the store was made', async () => {
    const client = clientOf(version)
    await client.connect()
    const limiter = open(client)
    expect(await left(limiter)).toBe(9)
    await limiter.close()
    expect(await client.ping()).toBe('PONG')
    const other = open(client)
    client.destroy()
    expect(await left(other)).toBe(8)
  })

  it('that is shared and not connected yet is waited for', async () => {
    const client = clientOf(version)
    const limiter = open(client, { connection: 'shared' })
    const call = left(limiter)
    await client.connect()
    expect(await call).toBe(9)
  })

  it('comes back when its connection was cut, and has charged the call that was under way once', async () => {
    const proxy = await startProxy(server.port)
    onTestFinished(() => proxy.stop())
    const limiter = open(clientOf(version, {}, proxy.port))
    expect(await left(limiter)).toBe(9)
    proxy.replies('cut')
    expect(await left(limiter)).toBe('unavailable')
    proxy.replies('pass')
    await until('the store answers', async () => (await limiter.peek('a')).source === 'store')
    expect(await left(limiter)).toBe(7)
  })

  it('runs a script that Redis has forgotten, and charges the call once', async () => {
    const limiter = open(clientOf(version))
    expect(await left(limiter)).toBe(9)
    await redis.script('FLUSH')
    expect(await left(limiter)).toBe(8)
  })
})

it.each([
  ['a pool of node-redis: give it a client of createClient()', () => createClientPool()],
  [
    'a Sentinel of node-redis: give it new Redis({ sentinels, name }) of ioredis',
    () => createSentinel({ name: 'mymaster', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
  ],
])('is not %s', (rule, make) => {
  const client = make()
  client.on('error', () => {})
  expect(() => redisStore(client as never)).toThrow(`redisStore does not take ${rule}`)
})

it('is of node-redis 5 or newer', () => {
  const old = { evalSha() {}, duplicate() {}, sendCommand() {}, disconnect() {} }
  expect(() => redisStore(old as never)).toThrow(
    'redisStore takes node-redis 5 or newer; this client is of an older',
  )
})
