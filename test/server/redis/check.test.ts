import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLimiter, type Finding, memoryStore, type Store, tokenBucket } from '@ratepact/server'
import { type RedisStoreOptions, redisStore } from '@ratepact/server/redis'
import { testClock } from '@ratepact/testing'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startFakeRedis } from '../../faults/fake-redis.js'
import { freePort, startRedis, type TestRedis } from '../../redis.js'

const policies = [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1 })]

let server: TestRedis
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

async function find(client: object, options: RedisStoreOptions = {}): Promise<readonly Finding[]> {
  const limiter = createLimiter({ policies, store: redisStore(client as Redis, options) })
  onTestFinished(() => limiter.close())
  return limiter.check()
}

const codes = (findings: readonly Finding[]) => findings.map(({ code }) => code)

function client(options: object = {}): Redis {
  const made = new Redis({ port: server.port, host: '127.0.0.1', lazyConnect: true, ...options })
  made.on('error', () => {})
  onTestFinished(() => made.disconnect())
  return made
}

describe('a check', () => {
  it('finds nothing where all is well, and leaves nothing behind', async () => {
    expect(await find(client())).toEqual([])
    expect(await server.client().keys('*check*')).toEqual([])
  })

  it('finds each option of a shared client of ioredis that a limiter cannot live with', async () => {
    expect(codes(await find(client(), { connection: 'shared' }))).toEqual([
      'offline-queue',
      'resend',
      'retries',
    ])
    const unsafe = client({ enableAutoPipelining: true, retryStrategy: null })
    expect(codes(await find(unsafe, { connection: 'shared' }))).toEqual([
      ...['offline-queue', 'resend', 'retries', 'auto-pipelining', 'no-reconnect'],
    ])
    const safe = client({
      ...{ enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 },
      lazyConnect: false,
    })
    await new Promise((resolve) => safe.once('ready', resolve))
    expect(await find(safe, { connection: 'shared' })).toEqual([])
  })

  it('finds those of a shared client of node-redis', async () => {
    const made = createClient({
      url: `redis://127.0.0.1:${server.port}`,
      socket: { reconnectStrategy: false },
    })
    made.on('error', () => {})
    await made.connect()
    onTestFinished(() => made.destroy())
    expect(codes(await find(made, { connection: 'shared' }))).toEqual([
      ...['offline-queue', 'unbounded-queue', 'no-reconnect'],
    ])
    expect(await find(made)).toEqual([])
  })

  it('finds a brace in the prefix of a client, and lets one without pass', async () => {
    expect(codes(await find(client({ keyPrefix: 'app{1}:' })))).toEqual(['key-prefix'])
    expect(await find(client({ keyPrefix: 'app:' }))).toEqual([])
  })

  it.each<[string, RedisStoreOptions['connection'], object]>([
    ['of its Sentinels', 'own', { role: 'slave' }],
    ['of its own', 'shared', { readOnly: true }],
  ])('finds that a client is set to read from replicas %s', async (_, connection = 'own', options) => {
    expect(codes(await find(client(options), { connection }))).toContain('replica')
  })

  it.each(['allkeys-lru', 'volatile-ttl'])(
    'finds that keys are dropped by %s where memory is bounded',
    async (policy) => {
      const redis = server.client()
      await redis.config('SET', 'maxmemory-policy', policy)
      onTestFinished(async () => {
        await redis.config('SET', 'maxmemory-policy', 'noeviction')
        await redis.config('SET', 'maxmemory', '0')
      })
      expect(await find(client())).toEqual([])
      await redis.config('SET', 'maxmemory', '100mb')
      expect(await find(client())).toMatchObject([
        {
          code: 'eviction',
          severity: 'warning',
          problem: expect.stringContaining(policy),
          remedy: /noeviction/,
        },
      ])
    },
  )

  it('finds that there is no memory left', async () => {
    const redis = server.client()
    await redis.config('SET', 'maxmemory', '1')
    onTestFinished(() => redis.config('SET', 'maxmemory', '0').then(() => {}))
    expect(await find(client())).toMatchObject([
      { code: 'unreachable', problem: expect.stringContaining('OOM') },
    ])
  })

  it('finds that it speaks to a replica', async () => {
    const replica = await startRedis({ config: ['--replicaof', '127.0.0.1', String(server.port)] })
    onTestFinished(() => replica.stop())
    expect(codes(await find(client({ port: replica.port })))).toEqual(['replica'])
  })

  it('finds a node of a Cluster behind a client of one server', async () => {
    const file = `check-${process.pid}.conf`
    onTestFinished(() => rmSync(join(tmpdir(), file), { force: true }))
    const node = await startRedis({
      config: ['--cluster-enabled', 'yes', '--cluster-config-file', file],
    })
    onTestFinished(() => node.stop())
    expect(codes(await find(client({ port: node.port })))).toEqual(['cluster'])
  })

  it('finds that nobody is there, within its time', async () => {
    const port = await freePort()
    expect(await find(client({ port }))).toMatchObject([
      { code: 'unreachable', severity: 'error', problem: expect.stringContaining('ECONNREFUSED') },
    ])
  })

  it('finds an old server', async () => {
    const fake = await startFakeRedis('$24\r\nredis_version:5.0.7\r\nx:y')
    onTestFinished(() => fake.stop())
    expect(await find(client({ port: fake.port }))).toMatchObject([
      { code: 'version', problem: expect.stringContaining('5.0.7') },
    ])
  })

  it.each([
    ['crossslot', "-CROSSSLOT Keys in request don't hash to the same slot"],
    ['unknown', "-ERR unknown command 'EVAL'"],
    ['permissions', "-NOPERM this user has no permissions to run the 'eval' command"],
  ])('finds a fault of configuration that Redis answers: %s', async (code, line) => {
    const fake = await startFakeRedis(line)
    onTestFinished(() => fake.stop())
    expect(await find(client({ port: fake.port }))).toMatchObject([{ code, severity: 'error' }])
  })
})

describe('the rights of a user of Redis', () => {
  const folder = new URL('../../../lua/', import.meta.url)
  const texts = ['', 'includes/'].flatMap((part) =>
    readdirSync(new URL(part || '.', folder))
      .filter((name) => name.endsWith('.lua'))
      .map((name) => readFileSync(new URL(part + name, folder), 'utf8')),
  )
  const commands = [
    ...new Set(texts.flatMap((text) => [...text.matchAll(/call\('([A-Z]+)'/g)].map(([, name]) => name))),
  ]

  async function findAs(...rights: string[]): Promise<readonly Finding[]> {
    await server.client().call('ACL', 'SETUSER', 'limited', 'reset', 'on', '>secret', ...rights)
    return find(client({ username: 'limited', password: 'secret' }))
  }

  const all = ['~rl1:*', '+evalsha', '+eval', '+info', ...commands.map((name) => `+${name?.toLowerCase()}`)]

  it('suffice, when they are those of the scripts', async () => {
    expect(commands.length).toBeGreaterThan(10)
    expect(await findAs(...all)).toEqual([])
  })

  it('are found too small, command by command', async () => {
    for (const name of ['eval', 'evalsha', ...commands]) {
      const findings = await findAs(...all, `-${name?.toLowerCase()}`)
      expect(findings).toMatchObject([
        { code: 'permissions', remedy: expect.stringContaining(`+${name?.toLowerCase()}`) },
      ])
    }
  })

  it('are found too small on other keys, and blind without INFO', async () => {
    expect(codes(await findAs(...all.slice(1), '~other:*'))).toEqual(['permissions'])
    expect(codes(await findAs(...all, '-info'))).toEqual(['info'])
  })
})

describe('a store', () => {
  it('without a check has nothing to find', async () => {
    expect(await createLimiter({ policies, store: memoryStore() }).check()).toEqual([])
  })

  it.each<[string, NonNullable<Store['check']>]>([
    ['fails', () => Promise.reject(new Error('boom'))],
    [
      'throws',
      () => {
        throw new Error('boom')
      },
    ],
    ['never ends', () => new Promise(() => {})],
  ])('whose check %s is told as one that cannot be checked', async (_, check) => {
    const clock = testClock()
    const store: Store = { ...memoryStore(), check }
    const limiter = createLimiter({ policies, store, clock })
    expect(await clock.runUntil(limiter.check())).toMatchObject([{ code: 'unreachable', severity: 'error' }])
    await limiter.close()
    await expect(limiter.check()).rejects.toThrow('This limiter is closed')
  })
})
