import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type LimiterEvent,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { type RedisClient, type RedisStoreOptions, redisStore } from '@ratepact/server/redis'
import { Cluster, Redis } from 'ioredis'
import { Redis as Redis6 } from 'ioredis6'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import * as scripts from '../../packages/server/src/redis/scripts.js'
import { startProxy } from '../proxy.js'
import { freePort, startRedis, type TestRedis } from '../redis.js'
import { until } from '../wait.js'
import { selfSigned } from './certificate.js'
import { startCluster, type TestCluster } from './cluster.js'

const user = tokenBucket({ name: 'user', capacity: 1000, refillPerSecond: 1e-6 })
const kinds: readonly Policy[] = [
  user,
  leakyBucket({ name: 'leaky', capacity: 1000, leakPerSecond: 1 }),
  fixedWindow({ name: 'fixed', quota: 1000, windowSeconds: 60 }),
  slidingWindowLog({ name: 'log', quota: 3, windowSeconds: 0.3 }),
  slidingWindowCounter({ name: 'counter', quota: 1000, windowSeconds: 60 }),
  concurrency({ name: 'running', limit: 10, leaseSeconds: 60 }),
]
const guide = await readFile(new URL('../../docs/redis-cluster.md', import.meta.url), 'utf8')

function open(client: RedisClient, policies: readonly Policy[] = [user], options: RedisStoreOptions = {}) {
  const limiter = createLimiter({
    policies,
    store: redisStore(client, { timeoutMs: 10_000, ...options }),
    onStoreFailure: 'closed',
    denyCache: false,
    blocks: true,
  })
  onTestFinished(() => limiter.close())
  return limiter
}

/** Everything that a limiter does. */
async function useAll(client: RedisClient): Promise<void> {
  const limiter = open(client, kinds)
  const partition = crypto.randomUUID()
  const call = { id: 'one', cost: { running: 1, user: 5 } }
  const first = await limiter.consume(partition, call)
  expect(first.outcome).toBe('admitted')
  expect(await limiter.consume(partition, call)).toMatchObject({ replayed: true })
  expect(await limiter.renew(first)).toBe(true)
  expect(await limiter.settle(first, { user: 2, log: 2 })).toBe(true)
  const second = await limiter.consume(partition)
  expect(await limiter.refund(second)).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 350))
  // By now the log has calls that are over.
  await limiter.consume(partition)
  await limiter.block(partition, 60)
  expect((await limiter.consume(partition)).outcome).toBe('blocked')
  expect(await limiter.unblock(partition)).toBe(true)
  await limiter.reset(partition)
  expect((await limiter.peek(partition)).outcome).toBe('admitted')
}

/** The ACL line of the guide, with what it has for a Cluster or without. */
function rights(forCluster: boolean): readonly string[] {
  const line = /ACL SETUSER limiter (.*)/.exec(guide)?.[1] ?? ''
  const more = /On a Cluster add `([^`]+)`/.exec(guide)?.[1] ?? ''
  expect([line, more]).not.toContain('')
  return [...line.split(' '), ...(forCluster ? more.split(' ') : [])]
}

it('the guide gives the rights to the commands of the scripts, and to no others', () => {
  const used = Object.values(scripts).flatMap((text) =>
    [...text.matchAll(/(?:call|try)\('([A-Z]+)'/g)].map(([, name]) => name?.toLowerCase()),
  )
  const granted = rights(false)
    .filter((word) => word.startsWith('+'))
    .map((word) => word.slice(1))
  expect(granted.sort()).toEqual([...new Set([...used, 'eval', 'evalsha', 'info'])].sort())
})

describe('a user with the rights of the guide and no others', () => {
  it.each<[string, (port: number) => RedisClient]>([
    ['ioredis', (port) => new Redis({ host: '127.0.0.1', port, username: 'limiter', password: 'secret' })],
    [
      'node-redis',
      (port) =>
        createClient({ username: 'limiter', password: 'secret', socket: { host: '127.0.0.1', port } }),
    ],
  ])('can do all that a limiter does, through %s', async (_, connect) => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const admin = server.client()
    await admin.call('ACL', 'SETUSER', 'limiter', ...rights(false))
    const client = connect(server.port)
    client.on('error', () => {})
    await useAll(client)
    expect(await refused(admin)).toEqual([])
    if (client instanceof Redis) client.disconnect()
  })

  describe('on a Cluster', () => {
    let cluster: TestCluster
    beforeAll(async () => {
      cluster = await startCluster({
        prepare: (redis) => redis.call('ACL', 'SETUSER', 'limiter', ...rights(true)),
      })
    })
    afterAll(() => cluster.stop())

    it.each<[string, () => RedisClient]>([
      [
        'ioredis',
        () =>
          new Cluster([...cluster.addresses], {
            lazyConnect: true,
            redisOptions: { username: 'limiter', password: 'secret' },
          }),
      ],
      [
        'node-redis',
        () =>
          createCluster({
            rootNodes: cluster.addresses.map((socket) => ({ socket })),
            defaults: { username: 'limiter', password: 'secret' },
          }),
      ],
    ])('can do all that a limiter does, through %s', async (_, connect) => {
      await useAll(connect())
      for (const { redis } of cluster.masters) expect(await refused(redis)).toEqual([])
    })
  })
})

/** What Redis has refused to that user, other than the client's own name, which it can do without. */
async function refused(admin: Redis): Promise<unknown[]> {
  const log = (await admin.call('ACL', 'LOG')) as unknown[][]
  return log
    .map((entry) => String(entry[entry.indexOf('object') + 1]))
    .filter((object) => !object.startsWith('client|'))
}

describe('over TLS', () => {
  const { certificate, key } = selfSigned()
  const host = '127.0.0.1'
  let folder: string
  let server: TestRedis
  let port: number
  let files: readonly string[]
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tls-'))
    await writeFile(join(folder, 'cert.pem'), certificate)
    await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 })
    const at = (name: string) => join(folder, name)
    files = [
      ...['--tls-cert-file', at('cert.pem'), '--tls-key-file', at('key.pem')],
      ...['--tls-ca-cert-file', at('cert.pem'), '--tls-auth-clients', 'no'],
    ]
    port = await freePort()
    server = await startRedis({ config: ['--tls-port', String(port), ...files] })
  })
  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('calls are counted, through ioredis', async () => {
    const client = new Redis({ host, port, tls: { ca: certificate }, lazyConnect: true })
    expect((await open(client).consume('a')).outcome).toBe('admitted')
  })

  it('calls are counted, through node-redis', async () => {
    const client = createClient({ socket: { host, port, tls: true, ca: certificate } })
    expect((await open(client).consume('a')).outcome).toBe('admitted')
  })

  const tls = { ca: certificate }
  it.each<[string, 'own' | 'shared', (port: number) => RedisClient]>([
    ['ioredis', 'own', (to) => new Redis({ port: to, host, tls, lazyConnect: true })],
    ['ioredis 6', 'own', (to) => new Redis6({ port: to, host, tls, lazyConnect: true })],
    ['node-redis', 'own', (to) => createClient({ socket: { port: to, host, tls: true, ...tls } })],
    ['ioredis', 'shared', (to) => new Redis({ port: to, host, tls })],
  ])(
    'bytes that are no TLS end no more than the connection, through %s (%s)',
    async (_, connection, connect) => {
      const proxy = await startProxy(port)
      onTestFinished(() => proxy.stop())
      const client = connect(proxy.port)
      if (client instanceof Redis) onTestFinished(() => client.disconnect())
      client.on('error', () => {})
      const limiter = open(client, [user], { timeoutMs: 50, connection })
      await until('calls are counted', async () => (await limiter.consume('a')).allowed)
      proxy.replies('garble')
      const calls: Promise<Decision>[] = []
      // Some are written after the client has heard of the bytes, and before it has seen the end of the connection.
      for (let i = 0; i < 300; i += 1) {
        calls.push(limiter.consume('a'))
        await setImmediate()
      }
      expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toContain('unavailable')
      proxy.replies('pass')
      await until('calls are counted again', async () => (await limiter.consume('a')).allowed)
    },
  )

  it.each<[string, () => RedisClient]>([
    ['ioredis', () => new Redis({ host, port, tls: {}, lazyConnect: true })],
    ['node-redis', () => createClient({ socket: { host, port, tls: true } })],
  ])(
    'a server whose certificate is not trusted is not talked to, and that is told, through %s',
    async (_, connect) => {
      const events: LimiterEvent[] = []
      const client = connect()
      client.on('error', () => {})
      const limiter = createLimiter({
        policies: [user],
        store: redisStore(client, { timeoutMs: 1000 }),
        onStoreFailure: 'closed',
        onEvent: (event) => events.push(event),
      })
      onTestFinished(() => limiter.close())
      expect((await limiter.consume('a')).outcome).toBe('unavailable')
      expect(events.find(({ type }) => type === 'config-fault')).toMatchObject({
        error: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', remedy: expect.stringContaining('tls.ca') },
      })
    },
  )
})
