import { once } from 'node:events'
import { createLimiter, type Limiter, type LimiterEvent, tokenBucket } from '@ratepact/server'
import { type RedisClient, redisStore } from '@ratepact/server/redis'
import { Cluster, Redis } from 'ioredis'
import { Redis as Redis6 } from 'ioredis6'
import { createClient } from 'redis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startRedis } from '../redis.js'
import { until } from '../wait.js'
import { type FakeRedis, startFakeRedis } from './fake-redis.js'

const burst = tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 0.001 })

let redis: FakeRedis
let events: LimiterEvent[]
let closers: (() => Promise<void>)[]
beforeEach(async () => {
  events = []
  closers = []
  redis = await startFakeRedis()
})
afterEach(async () => {
  for (const close of closers.reverse()) await close()
  await redis.stop()
})

type Connect = (port: number) => RedisClient

const ioredis =
  (Client: typeof Redis): Connect =>
  (port) => {
    const client = new Client({ port, host: '127.0.0.1', lazyConnect: true })
    client.on('error', () => {})
    closers.push(async () => client.disconnect())
    return client
  }

function open(connect: Connect = ioredis(Redis)): Limiter {
  const limiter = createLimiter({
    policies: [burst],
    store: redisStore(connect(redis.port), { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    onEvent: (event) => events.push(event),
  })
  closers.push(() => limiter.close())
  return limiter
}

/** As Redis 6.2 tells an error that a command inside a script met. */
const inScript = (error: string) =>
  `-ERR Error running script (call to f_0123abcd): @user_script:60: @user_script: 60: ${error}`

/** As Redis 7 does. */
const inScript7 = (error: string) => `${error} script: 0123abcd, on @user_script:60.`

const clients: readonly (readonly [name: string, connect: Connect])[] = [
  ['ioredis 5', ioredis(Redis)],
  ['ioredis 6', ioredis(Redis6 as unknown as typeof Redis)],
  [
    'node-redis',
    (port) => createClient({ socket: { port, host: '127.0.0.1' } }).on('error', () => {}) as RedisClient,
  ],
]

describe.each(clients)('an outage, seen by %s, is told by its code', (_, connect) => {
  it.each([
    ['LOADING', '-LOADING Redis is loading the dataset in memory'],
    ['MASTERDOWN', "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."],
    ['CLUSTERDOWN', '-CLUSTERDOWN The cluster is down'],
    ['CLUSTERDOWN', '-CLUSTERDOWN Hash slot not served'],
    ['READONLY', "-READONLY You can't write against a read only replica."],
    ['READONLY', inScript("-READONLY You can't write against a read only replica.")],
    ['OOM', "-OOM command not allowed when used memory > 'maxmemory'."],
    ['OOM', inScript("-OOM command not allowed when used memory > 'maxmemory'.")],
    ['READONLY', inScript7("-READONLY You can't write against a read only replica.")],
    ['OOM', inScript7("-OOM command not allowed when used memory > 'maxmemory'.")],
    ['MISCONF', inScript7('-MISCONF Redis is configured to save RDB snapshots, but is unable to persist.')],
    ['NOREPLICAS', inScript('-NOREPLICAS Not enough good replicas to write.')],
    ['MAXCLIENTS', '-ERR max number of clients reached'],
    ['BUSY', '-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.'],
    ['NOAUTH', '-NOAUTH Authentication required.'],
    ['NOREPLICAS', '-NOREPLICAS Not enough good replicas to write.'],
    ['MISCONF', '-MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist.'],
    ['TRYAGAIN', '-TRYAGAIN Multiple keys request during rehashing of slot'],
  ])('%s: %s', async (code, line) => {
    redis.answer(line)
    const decision = await open(connect).consume('a')
    expect(decision).toMatchObject({ outcome: 'unavailable', retryAfterSeconds: 5, source: 'none' })
    expect(events).toMatchObject([
      { type: 'degraded', reason: 'unready', error: { name: 'StoreError', code, mayHaveRun: false } },
    ])
  })
})

describe('a fault of configuration follows the mode, comes with its remedy, and leaves the breaker alone', () => {
  it.each([
    ['NOPERM', "-NOPERM this user has no permissions to run the 'evalsha' command", /user of the connection/],
    [
      'NOPERM',
      "-ERR ACL failure in script: User default has no permissions to run the 'time' command",
      /user/,
    ],
    ['NOPERM', inScript("The user executing the script can't run this command or subcommand"), /user/],
    ['CROSSSLOT', "-CROSSSLOT Keys in request don't hash to the same slot", /Cluster/],
    ['CROSSSLOT', '-ERR Script attempted to access a non local key in a cluster node', /Cluster/],
    [
      'CROSSSLOT',
      inScript7('-ERR Script attempted to access keys that do not hash to the same slot'),
      /Cluster/,
    ],
    ['CROSSSLOT', '-ERR This instance has cluster support disabled', /Cluster/],
    [
      'NOPERM',
      inScript7("-NOPERM ACL failure in script: User default has no permissions to run the 'time' command"),
      /user/,
    ],
    ['UNKNOWN', inScript7('-ERR Unknown Redis command called from script'), /Redis 6\.2/],
    ['UNKNOWN', "-ERR unknown command 'EVALSHA', with args beginning with: 'OOM'", /Redis 6\.2/],
    ['UNKNOWN', inScript('Unknown Redis command called from Lua script'), /Redis 6\.2/],
    ['UNKNOWN', inScript('ERR syntax error'), /Redis 6\.2/],
  ])('%s: %s', async (code, line, remedy) => {
    redis.answer(line)
    const limiter = open()
    for (let call = 0; call < 10; call += 1) expect((await limiter.consume('a')).outcome).toBe('unavailable')
    expect(redis.scripts).toBe(10)
    expect(events).toMatchObject([
      {
        type: 'config-fault',
        mode: 'closed',
        problem: expect.stringContaining(line.slice(1, 20)),
        remedy: expect.stringMatching(remedy),
        calls: 1,
        error: { reason: 'configuration', code },
      },
    ])
  })
})

describe('a server that asks for another password when it is connected to', () => {
  it.each([
    ['unready', 'NOAUTH', '-NOAUTH Authentication required.', {}],
    ['configuration', 'WRONGPASS', '-WRONGPASS invalid username-password pair', { password: 'old' }],
  ])('is %s: %s', async (reason, code, line, options) => {
    redis.greet(line)
    const client = new Redis({ port: redis.port, host: '127.0.0.1', lazyConnect: true, ...options })
    client.on('error', () => {})
    const limiter = createLimiter({
      policies: [burst],
      store: redisStore(client, { timeoutMs: 500 }),
      onEvent: (event) => events.push(event),
    })
    closers.push(() => limiter.close())
    expect((await limiter.consume('a')).outcome).toBe('unchecked')
    expect(events[0]).toMatchObject({ error: { reason, code, mayHaveRun: false } })
    redis.greet(undefined)
    redis.answer('*2\r\n:1700000000000000\r\n:0')
    await until('it is asked again', async () => (await limiter.consume('a')).source === 'store')
  })
})

describe('a connection that ends', () => {
  it.each(clients)('under a call, seen by %s, is an outage of which nothing is known', async (_, connect) => {
    redis.answer('cut')
    expect((await open(connect).consume('a')).outcome).toBe('unavailable')
    expect(events).toMatchObject([{ type: 'degraded', reason: 'disconnected', error: { mayHaveRun: true } }])
  })

  const shared: readonly (readonly [name: string, connect: (port: number) => Promise<RedisClient>])[] = [
    [
      'ioredis',
      async (port) => {
        const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true })
        await client.connect()
        client.disconnect()
        await once(client, 'end')
        return client
      },
    ],
    [
      'a cluster of ioredis',
      async (port) => {
        const client = new Cluster([{ port, host: '127.0.0.1' }], { lazyConnect: true })
        client.disconnect()
        return client
      },
    ],
    [
      'node-redis',
      async (port) => {
        const client = createClient({ socket: { port, host: '127.0.0.1' } })
        await client.connect()
        client.destroy()
        return client as RedisClient
      },
    ],
  ]
  it.each(shared)(
    'because its user has ended a shared client of %s is one that nothing is sent to',
    async (_, end) => {
      const client = await end(redis.port)
      const limiter = createLimiter({
        policies: [burst],
        store: redisStore(client, { connection: 'shared', timeoutMs: 100 }),
        onEvent: (event) => events.push(event),
      })
      closers.push(() => limiter.close())
      expect((await limiter.consume('a')).outcome).toBe('unchecked')
      expect(redis.scripts).toBe(0)
      expect(events).toMatchObject([
        { type: 'degraded', reason: 'disconnected', error: { mayHaveRun: false } },
      ])
      expect(await limiter.check()).toContainEqual(expect.objectContaining({ code: 'unreachable' }))
    },
  )
})

for (const answer of ['+OK', '$-1', ':-5', '*1\r\n+OK', '*2\r\n:5\r\n$-1'])
  it(`an answer that is none, ${JSON.stringify(answer)}, and an error that nobody knows, are told as they are`, async () => {
    redis.answer(answer)
    const limiter = open()
    expect((await limiter.consume('a')).outcome).toBe('unavailable')
    redis.answer('-ERR something else')
    const eventsBefore = events.length
    expect((await limiter.consume('a')).outcome).toBe('unavailable')
    expect(events[0]).toMatchObject({ type: 'degraded', reason: 'error', error: { mayHaveRun: true } })
    expect(eventsBefore).toBe(1)
  })

it('a Sentinel that knows of no master is no connection', async () => {
  const client = new Redis({
    sentinels: [{ host: '127.0.0.1', port: redis.port }],
    name: 'main',
    lazyConnect: true,
  })
  client.on('error', () => {})
  const limiter = createLimiter({
    policies: [burst],
    store: redisStore(client, { timeoutMs: 500 }),
    onEvent: (event) => events.push(event),
  })
  closers.push(() => limiter.close())
  expect((await limiter.consume('a')).outcome).toBe('unchecked')
  expect(events[0]).toMatchObject({ type: 'degraded', reason: 'disconnected', error: { mayHaveRun: false } })
})

it('a user of Redis who may not run what the scripts run is a fault of configuration', async () => {
  const server = await startRedis()
  closers.push(() => server.stop())
  await server
    .client()
    .call('ACL', 'SETUSER', 'weak', 'on', '>secret', '~rl1:*', '+evalsha', '+eval', '+info')
  const client = new Redis({ port: server.port, username: 'weak', password: 'secret', lazyConnect: true })
  client.on('error', () => {})
  const limiter = createLimiter({
    policies: [burst],
    store: redisStore(client, { timeoutMs: 20_000 }),
    onEvent: (event) => events.push(event),
  })
  closers.push(() => limiter.close())
  expect((await limiter.consume('a')).outcome).toBe('unchecked')
  expect(events).toMatchObject([{ type: 'config-fault', error: { reason: 'configuration', code: 'NOPERM' } }])
})
