import { createServer, type Socket } from 'node:net'
import {
  concurrency,
  createLimiter,
  fixedWindow,
  type LimiterEvent,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { type RedisClient, redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startProxy } from '../../proxy.js'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'

const burst = tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 0.001 })

let server: TestRedis
let redis: Redis
const events: LimiterEvent[] = []
beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
beforeEach(async () => {
  events.length = 0
  await redis.flushall()
})
afterAll(() => server.stop())

function open({
  port = server.port,
  timeoutMs = 20_000,
  policies = [burst] as readonly Policy[],
  client = {},
  ...rest
} = {}) {
  const user = new Redis({ port, host: '127.0.0.1', lazyConnect: true, ...client })
  user.on('error', () => {})
  const limiter = createLimiter({
    policies,
    store: redisStore(user, { timeoutMs, ...rest }),
    onStoreFailure: 'closed',
    denyCache: false,
    onEvent: (event) => events.push(event),
  })
  onTestFinished(async () => {
    await limiter.close()
    user.disconnect()
  })
  return limiter
}

const answers = (limiter: ReturnType<typeof open>) =>
  until('the store answers', async () => (await limiter.peek('a')).source === 'store')

function block(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe('a process that stands still is no failure of Redis', () => {
  it('when it does so right after a call', async () => {
    const limiter = open({ timeoutMs: 50 })
    await answers(limiter)
    const call = limiter.consume('a')
    block(300)
    expect((await call).outcome).toBe('admitted')
  })

  it('when it does so for so long that Redis seems to have fallen silent', async () => {
    const limiter = open({ timeoutMs: 500 })
    await answers(limiter)
    const call = limiter.consume('a')
    await new Promise((resolve) => setImmediate(resolve))
    block(2100)
    expect((await limiter.consume('a')).outcome).toBe('admitted')
    expect((await call).outcome).toBe('admitted')
  })

  it('when it does so while Redis answers that it does not know the script', async () => {
    const limiter = open({ timeoutMs: 50 })
    await answers(limiter)
    await redis.script('FLUSH')
    const calls = Array.from({ length: 20 }, () => limiter.consume('a'))
    await new Promise((resolve) => setImmediate(resolve))
    block(80)
    expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toEqual(calls.map(() => 'admitted'))
    expect(events.map(({ type }) => type)).not.toContain('degraded')
  })

  it('when it does so in slices between many calls', async () => {
    const limiter = open({ timeoutMs: 50 })
    await answers(limiter)
    const calls = Array.from({ length: 20 }, () => {
      const call = limiter.consume('a')
      block(15)
      return call
    })
    expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toEqual(calls.map(() => 'admitted'))
  })

  it('when it does so again and again while calls are answered', async () => {
    const limiter = open({ timeoutMs: 50 })
    await answers(limiter)
    const busy = setInterval(() => block(60), 1)
    onTestFinished(() => clearInterval(busy))
    for (let i = 0; i < 20; i += 1) expect((await limiter.consume('a')).outcome).toBe('admitted')
  })
})

describe('a connection that is of no use is replaced', () => {
  it('when it has fallen silent', async () => {
    const proxy = await startProxy(server.port)
    onTestFinished(() => proxy.stop())
    const limiter = open({ port: proxy.port, timeoutMs: 50 })
    await answers(limiter)
    proxy.mute()
    expect((await limiter.consume('a')).outcome).toBe('unavailable')
    await answers(limiter)
  })

  it('when it has fallen silent and nobody calls any more', async () => {
    const proxy = await startProxy(server.port)
    const client = new Redis({ port: proxy.port, host: '127.0.0.1', lazyConnect: true })
    const store = redisStore(client)
    onTestFinished(async () => {
      await limiter.close()
      await proxy.stop()
    })
    let connections = 0
    store.observe?.(({ type }) => {
      if (type === 'connected') connections += 1
    })
    const limiter = createLimiter({ policies: [burst], store, onStoreFailure: 'closed' })
    await until('it is connected', () => connections === 1)
    proxy.mute()
    expect((await limiter.consume('a')).outcome).toBe('unavailable')
    await until('it is connected anew', () => connections === 2)
    expect((await limiter.consume('a')).outcome).toBe('admitted')
  })

  it('when it was accepted and never answered', async () => {
    const sockets = new Set<Socket>()
    const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1')
    await until('it listens', () => silent.listening)
    const { port } = silent.address() as { port: number }
    const limiter = open({ port, timeoutMs: 50 })
    await until('it has connected', () => sockets.size > 0)
    for (const socket of sockets) socket.on('error', () => {})
    await until('it says why', async () => {
      await limiter.consume('a')
      return events.some(
        (event) => 'error' in event && /not made within 800 ms$/.test(event.error?.message ?? ''),
      )
    })
    // It listens no more, and keeps what it has accepted.
    silent.close()
    await until('the port is free', () => !silent.listening)
    const late = await startRedis({ port })
    onTestFinished(() => late.stop())
    await answers(limiter)
    for (const socket of sockets) socket.destroy()
  })

  it('when the server has become a replica and its address is another now', async () => {
    const replica = await startRedis()
    onTestFinished(() => replica.stop())
    const proxy = await startProxy(replica.port)
    onTestFinished(() => proxy.stop())
    const limiter = open({ port: proxy.port })
    await answers(limiter)
    await replica.client().replicaof('127.0.0.1', String(server.port))
    proxy.target(server.port)
    await until('a call is admitted', async () => (await limiter.consume('a')).outcome === 'admitted')
  })
})

describe('what stands under a key of ours and is none of ours is begun afresh, and harms no neighbour', () => {
  const damage: Record<string, { policies: readonly Policy[]; key: string; plant: () => Promise<unknown> }> =
    {
      'a fixed window with an absurd count': {
        policies: [fixedWindow({ name: 'p', quota: 5, windowSeconds: 3600 })],
        key: 'rl1:{client:bad}',
        plant: () => overwrite('rl1:{client:bad}', 20, 27),
      },
      'a sliding counter with an absurd count': {
        policies: [slidingWindowCounter({ name: 'p', quota: 5, windowSeconds: 3600 })],
        key: 'rl1:{client:bad}',
        plant: () => overwrite('rl1:{client:bad}', 20, 34),
      },
      'a log that begins with something else': {
        policies: [slidingWindowLog({ name: 'p', quota: 5, windowSeconds: 3600 })],
        key: 'rl1:{client:bad}|log:p',
        plant: () => redis.lpush('rl1:{client:bad}|log:p', 'junk'),
      },
      'a record of thousands of entries that nobody wrote': {
        policies: [fixedWindow({ name: 'p', quota: 5, windowSeconds: 3600 })],
        key: 'rl1:{client:bad}',
        plant: () => redis.set('rl1:{client:bad}', Buffer.alloc(34 * 3000, 0x55)),
      },
    }

  async function overwrite(key: string, from: number, to: number): Promise<void> {
    const value = (await redis.getBuffer(key)) as Buffer
    await redis.set(key, value.fill(0x7f, from, to), 'KEEPTTL')
  }

  it.each(Object.entries(damage))('%s', async (_, { policies, key, plant }) => {
    const limiter = open({ policies })
    await limiter.consume('bad')
    await plant()
    for (let round = 0; round < 3; round += 1) {
      const calls = await Promise.all([
        limiter.consume('one'),
        limiter.consume('bad'),
        limiter.consume('two'),
      ])
      expect([calls[0]?.outcome, calls[2]?.outcome]).toEqual(['admitted', 'admitted'])
      expect(calls[1]?.outcome).toMatch(/^(admitted|refused)$/)
    }
    const ttl = await redis.pttl(key)
    expect(ttl).toBeGreaterThan(0)
    expect(ttl).toBeLessThanOrEqual(2 * 3600_000 + 1)
  })
})

it('policies of one name and two algorithms do not meet', async () => {
  const running = open({ policies: [concurrency({ name: 'p', limit: 3, leaseSeconds: 60 })] })
  const logged = open({ policies: [slidingWindowLog({ name: 'p', quota: 3, windowSeconds: 60 })] })
  const admitted = { running: 0, logged: 0 }
  for (let i = 0; i < 6; i += 1) {
    if ((await running.consume('a')).allowed) admitted.running += 1
    if ((await logged.consume('a')).allowed) admitted.logged += 1
  }
  expect(admitted).toEqual({ running: 3, logged: 3 })
  expect(events.filter(({ type }) => type !== 'refused')).toEqual([])
})

it('a shared client that connects lazily is used', async () => {
  const user = new Redis({ port: server.port, host: '127.0.0.1', lazyConnect: true })
  const limiter = createLimiter({
    policies: [burst],
    store: redisStore(user, { connection: 'shared', timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
  })
  onTestFinished(async () => {
    await limiter.close()
    user.disconnect()
  })
  expect((await limiter.consume('a')).outcome).toBe('admitted')
})

it.each<[string, () => RedisClient & { listenerCount(event: string): number }]>([
  ['ioredis', () => new Redis({ port: server.port, host: '127.0.0.1', lazyConnect: true })],
  ['node-redis', () => createClient({ socket: { port: server.port, host: '127.0.0.1' } })],
])(
  'a client of %s that many limiters share has one listener for all, and none when they are closed',
  async (_, make) => {
    const client = make()
    const before = client.listenerCount('ready')
    const limiters = Array.from({ length: 12 }, () =>
      createLimiter({ policies: [burst], store: redisStore(client, { connection: 'shared' }) }),
    )
    expect(client.listenerCount('ready') - before).toBe(1)
    for (const limiter of limiters) await limiter.close()
    expect(client.listenerCount('ready') - before).toBe(0)
  },
)

it('a script that Redis has forgotten is not sent again to charge a caller who has been answered', async () => {
  const proxy = await startProxy(server.port)
  onTestFinished(() => proxy.stop())
  const limiter = open({ port: proxy.port, timeoutMs: 50 })
  await answers(limiter)
  await redis.script('FLUSH')
  proxy.delay(80)
  expect((await limiter.consume('a')).outcome).toBe('unavailable')
  proxy.delay(0)
  await answers(limiter)
  expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 1000 }] })
})

it('a refund out of a long log keeps nobody waiting', async () => {
  const limiter = open({ policies: [slidingWindowLog({ name: 'p', quota: 100_000, windowSeconds: 3600 })] })
  const first = await limiter.consume('a')
  for (let i = 0; i < 40; i += 1) await Promise.all(Array.from({ length: 500 }, () => limiter.consume('a')))
  await redis.config('RESETSTAT')
  await limiter.refund(first)
  const stats = await redis.info('commandstats')
  const commands = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].reduce(
    (sum, [, , calls]) => sum + Number(calls),
    0,
  )
  expect(commands).toBeLessThan(5000)
})
