import { createLimiter, type Limiter, type LimiterEvent, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { Redis as Redis6 } from 'ioredis6'
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

function open(Client: typeof Redis = Redis, options = {}): Limiter {
  const client = new Client({ port: redis.port, host: '127.0.0.1', lazyConnect: true, ...options })
  client.on('error', () => {})
  const limiter = createLimiter({
    policies: [burst],
    store: redisStore(client, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    onEvent: (event) => events.push(event),
  })
  closers.push(async () => {
    await limiter.close()
    client.disconnect()
  })
  return limiter
}

/** As Redis 6.2 tells an error that a command inside a script met. */
const inScript = (error: string) =>
  `-ERR Error running script (call to f_0123abcd): @user_script:60: @user_script: 60: ${error}`

const clients = [
  ['ioredis 5', Redis],
  ['ioredis 6', Redis6 as unknown as typeof Redis],
] as const

describe.each(clients)('an outage, seen by %s, is told by its code', (_, Client) => {
  it.each([
    ['LOADING', '-LOADING Redis is loading the dataset in memory'],
    ['MASTERDOWN', "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."],
    ['CLUSTERDOWN', '-CLUSTERDOWN The cluster is down'],
    ['CLUSTERDOWN', '-CLUSTERDOWN Hash slot not served'],
    ['READONLY', "-READONLY You can't write against a read only replica."],
    ['READONLY', inScript("-READONLY You can't write against a read only replica.")],
    ['OOM', "-OOM command not allowed when used memory > 'maxmemory'."],
    ['OOM', inScript("-OOM command not allowed when used memory > 'maxmemory'.")],
    ['BUSY', '-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.'],
    ['NOAUTH', '-NOAUTH Authentication required.'],
    ['NOREPLICAS', '-NOREPLICAS Not enough good replicas to write.'],
    ['MISCONF', '-MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist.'],
    ['TRYAGAIN', '-TRYAGAIN Multiple keys request during rehashing of slot'],
  ])('%s: %s', async (code, line) => {
    redis.answer(line)
    const decision = await open(Client).consume('a')
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

it('an answer that is none, and an error that nobody knows, are told as they are', async () => {
  redis.answer(':5')
  const limiter = open()
  expect((await limiter.consume('a')).outcome).toBe('unavailable')
  redis.answer('-ERR something else')
  const events5 = events.length
  expect((await limiter.consume('a')).outcome).toBe('unavailable')
  expect(events[0]).toMatchObject({ type: 'degraded', reason: 'error', error: { mayHaveRun: true } })
  expect(events5).toBe(1)
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
