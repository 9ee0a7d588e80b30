import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import {
  concurrency,
  createLimiter,
  fixedWindow,
  type Limiter,
  type LimiterEvent,
  type Policy,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { type RedisClient, type RedisStoreOptions, redisStore } from '@ratepact/server/redis'
import { Cluster, type ClusterOptions } from 'ioredis'
import { Cluster as Cluster6 } from 'ioredis6'
import { createCluster } from 'redis'
import { createCluster as createCluster5 } from 'redis5'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../wait.js'
import { startCluster, type TestCluster } from './cluster.js'
import { startCounter } from './counter.js'

const user = tokenBucket({ name: 'user', capacity: 10, refillPerSecond: 1e-6 })
const team = fixedWindow({ name: 'team', quota: 100, windowSeconds: 86_400 * 30, by: 'account' })

type Address = { readonly host: string; readonly port: number }

let cluster: TestCluster
const events: LimiterEvent[] = []
beforeAll(async () => {
  cluster = await startCluster()
})
beforeEach(async () => {
  events.length = 0
  await cluster.flush()
})
afterAll(() => cluster.stop())

function ioredis(options: ClusterOptions = {}): Cluster {
  const client = new Cluster([...cluster.addresses], { lazyConnect: true, ...options })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client
}

function open<const P extends readonly Policy[]>(
  policies: P,
  options: RedisStoreOptions = {},
  client: RedisClient = ioredis(),
) {
  const limiter = createLimiter({
    policies,
    store: redisStore(client, { timeoutMs: 20_000, ...options }),
    onStoreFailure: 'closed',
    denyCache: false,
    blocks: true,
    onEvent: (event) => events.push(event),
  })
  onTestFinished(() => limiter.close())
  return limiter
}

async function available(limiter: Limiter<string, 'client' | 'account'>, client: string, account: string) {
  const decision = await limiter.peek({ client, account })
  return 'limits' in decision ? decision.limits.map((limit) => limit.available) : decision.outcome
}

/** How often nodes have answered that a key is elsewhere. */
async function moved(): Promise<number> {
  const stats = await Promise.all(cluster.masters.map(({ redis }) => redis.info('errorstats')))
  return stats.reduce((sum, text) => sum + Number(/errorstat_MOVED:count=(\d+)/.exec(text)?.[1] ?? 0), 0)
}

describe('each key goes straight to its node', () => {
  it.each([
    ['{', '}', '{}', '}{', '{a}', 'a}:{b'],
    ['*', '?', '\n', '\0', ' ', ':', '|', '/', '%7B', '#'],
    ['\ud800', '\udc00', '😀', 'é', 'e\u0301', 'x'.repeat(1_000_000), '😀'.repeat(1000)],
  ])('whatever the identity (case %#)', async (...identities) => {
    const limiter = open([
      user,
      slidingWindowLog({ name: 'log', quota: 5, windowSeconds: 60, perScope: true }),
    ])
    await limiter.peek('warm')
    const before = await moved()
    for (const who of identities) {
      const { outcome } = await limiter.consume(who, { scope: '{GET} /}{' })
      expect([who.slice(0, 10), outcome]).toEqual([who.slice(0, 10), 'admitted'])
    }
    expect(await moved()).toBe(before)
    for (const { redis } of cluster.masters)
      for (const key of await redis.keys('*')) expect(await redis.exists(key)).toBe(1)
  })

  it.each<[string, () => RedisClient, string]>([
    ['Cluster of ioredis 5', () => ioredis(), ''],
    ['one of ioredis 6', () => new Cluster6([...cluster.addresses], { lazyConnect: true }), ''],
    ['one with a key prefix', () => ioredis({ keyPrefix: 'app:' }), 'app:'],
    [
      'one whose prefix stands with its nodes',
      () => ioredis({ redisOptions: { keyPrefix: 'app:' } }),
      'app:',
    ],
    ['one that pipelines by itself', () => ioredis({ enableAutoPipelining: true }), ''],
    ['one that reads from replicas', () => ioredis({ scaleReads: 'all' }), ''],
    ['one of node-redis', () => nodeRedis(), ''],
    ['one of node-redis 5', () => nodeRedis5(), ''],
    ['one of node-redis with a key prefix', () => nodeRedis({ keyPrefix: 'app:' }), 'app:'],
  ])('through %s', async (_, connect, prefix) => {
    const limiter = open([user, team], {}, connect())
    for (const client of ['a', 'b', 'c', 'd'])
      expect((await limiter.consume({ client, account: 'x' })).outcome).toBe('admitted')
    expect(await available(limiter, 'a', 'x')).toEqual([9, 96])
    expect(await cluster.keys()).toEqual(
      ['{account:x}', '{client:a}', '{client:b}', '{client:c}', '{client:d}'].map(
        (tag) => `${prefix}rl1:${tag}`,
      ),
    )
  })

  it.each<[string, () => Cluster | ReturnType<typeof nodeRedis | typeof nodeRedis5>]>([
    ['ioredis', () => ioredis()],
    ['node-redis', () => nodeRedis()],
    ['node-redis 5', () => nodeRedis5()],
  ])('through a shared cluster of %s', async (_, connect) => {
    const client = connect()
    await client.connect()
    const limiter = open([user, team], { connection: 'shared' }, client)
    const calls = ['a', 'b', 'c', 'a'].map((who) => limiter.consume({ client: who, account: 'x' }))
    expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toEqual(calls.map(() => 'admitted'))
    expect(await available(limiter, 'a', 'x')).toEqual([8, 96])
  })

  it.each<[string, (seeds: Address[]) => RedisClient]>([
    ['ioredis', (seeds) => new Cluster(seeds, { lazyConnect: true }).on('error', () => {})],
    ['node-redis', (seeds) => nodeRedis({}, seeds)],
  ])('through a cluster of %s whose first nodes to ask accept it and never answer', async (_, connect) => {
    const silent = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await once(silent, 'listening')
    const address = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port }
    // Whichever they begin with: of six it is one that does not answer, most often.
    const seeds = [...Array(5).fill(address), ...cluster.addresses.slice(0, 1)]
    const limiter = open([user], { timeoutMs: 500 }, connect(seeds))
    await until('it is counted', async () => (await limiter.consume('a')).outcome === 'admitted', 15_000)
  })

  function nodeRedis5() {
    return createCluster5({ rootNodes: cluster.addresses.map((socket) => ({ socket })) })
  }

  function nodeRedis(options: { keyPrefix?: string } = {}, seeds: readonly Address[] = cluster.addresses) {
    return createCluster({ rootNodes: seeds.map((socket) => ({ socket })), ...options })
  }
})

it('a key prefix with a brace, which would put all keys on one node, is refused', () => {
  expect(() => redisStore(ioredis({ keyPrefix: '{app}:' }))).toThrow(
    'Expected keyPrefix of the cluster to have no brace, by which a cluster finds the node of a key, got "{app}:"',
  )
})

it('the calls of one turn leave in one packet for each node, however many slots they are in', async () => {
  const counters = await Promise.all(cluster.masters.map(({ port }) => startCounter(port)))
  onTestFinished(async () => void (await Promise.all(counters.map((counter) => counter.stop()))))
  const natMap = Object.fromEntries(
    cluster.masters.map(({ port }, i) => [
      `127.0.0.1:${port}`,
      { host: '127.0.0.1', port: counters[i]?.port ?? 0 },
    ]),
  )
  const limiter = open([user], {}, ioredis({ natMap }))
  const clients = Array.from({ length: 60 }, (_, i) => `client-${i}`)
  await Promise.all(clients.map((client) => limiter.consume(client)))
  for (const counter of counters) counter.reset()
  const calls = await Promise.all(clients.map((client) => limiter.consume(client)))
  expect(calls.every(({ outcome }) => outcome === 'admitted')).toBe(true)
  expect(counters.map((counter) => counter.packets())).toEqual([1, 1, 1])
  expect(counters.reduce((sum, counter) => sum + counter.scriptCalls(), 0)).toBe(60)
})

describe('a decision about partitions on different nodes', () => {
  const running = concurrency({ name: 'running', limit: 5, leaseSeconds: 60 })

  it('never admits more than the last units, and gives back all that lost the race', async () => {
    const last = tokenBucket({ name: 'last', capacity: 7, refillPerSecond: 1e-6, by: 'account' })
    const limiters = [open([user, running, last]), open([user, running, last])]
    const calls = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        limiters[i % 2]?.consume({ client: `client-${i % 30}`, account: 'x' }),
      ),
    )
    const admitted = calls.filter((call) => call?.allowed).length
    expect(admitted).toBeGreaterThan(0)
    expect(admitted).toBeLessThanOrEqual(7)
    expect(calls.filter((call) => call?.outcome === 'refused')).toHaveLength(60 - admitted)
    const [limiter] = limiters
    if (limiter === undefined) throw new Error('no limiter')
    let used = 0
    for (let i = 0; i < 30; i += 1) {
      const [left, places] = (await available(limiter, `client-${i}`, 'x')) as number[]
      used += 10 - (left ?? 0)
      // What was refused holds no place either.
      expect(5 - (places ?? 0)).toBe(10 - (left ?? 0))
    }
    expect(used).toBe(admitted)
    expect(((await available(limiter, 'other', 'x')) as number[])[2]).toBe(7 - admitted)
  })

  it('is remembered as a whole under its id, and not at all when it was refused', async () => {
    const limiter = open([user, team])
    const call = (cost: number, id: string) => limiter.consume({ client: 'a', account: 'x' }, { id, cost })
    expect(await call(4, 'one')).toMatchObject({ outcome: 'admitted', replayed: false })
    expect((await call(7, 'two')).outcome).toBe('refused')
    const look = { id: 'one', cost: 4 }
    expect(await limiter.peek({ client: 'a', account: 'x' }, look)).toMatchObject({ replayed: true })
    for (let again = 0; again < 3; again += 1)
      expect(await call(4, 'one')).toMatchObject({ outcome: 'admitted', replayed: true })
    expect(await available(limiter, 'a', 'x')).toEqual([6, 96])
    expect(await call(6, 'two')).toMatchObject({ outcome: 'admitted', replayed: false })
    expect(await available(limiter, 'a', 'x')).toEqual([0, 90])
    // Nothing is left, and still it has been admitted.
    expect(await call(6, 'two')).toMatchObject({ outcome: 'admitted', replayed: true })
  })

  it('counts once when it is sent many times at once under one id', async () => {
    const limiter = open([user, team])
    const calls = await Promise.all(
      Array.from({ length: 4 }, () => limiter.consume({ client: 'a', account: 'x' }, { id: 'one' })),
    )
    expect(calls.filter((call) => call.outcome === 'admitted')).toHaveLength(4)
    expect(await available(limiter, 'a', 'x')).toEqual([9, 99])
  })

  it('is blocked by any of its partitions', async () => {
    const limiter = open([user, team])
    await limiter.block({ account: 'x' }, 60)
    expect((await limiter.consume({ client: 'a', account: 'x' })).outcome).toBe('blocked')
    await limiter.block({ client: 'b', account: 'y' }, 60)
    expect((await limiter.consume({ client: 'b', account: 'z' })).outcome).toBe('blocked')
    expect(await limiter.unblock({ client: 'b', account: 'x' })).toBe(true)
    expect((await limiter.consume({ client: 'b', account: 'x' })).outcome).toBe('admitted')
    expect(await available(limiter, 'b', 'x')).toEqual([9, 99])
  })

  it('can be settled, refunded and reset on all of them', async () => {
    const limiter = open([user, team])
    const partition = { client: 'a', account: 'x' }
    const first = await limiter.consume(partition, { cost: 5 })
    expect(await limiter.settle(first, 2)).toBe(true)
    const second = await limiter.consume(partition, { cost: 3 })
    expect(await available(limiter, 'a', 'x')).toEqual([5, 95])
    expect(await limiter.refund(second)).toBe(true)
    expect(await available(limiter, 'a', 'x')).toEqual([8, 98])
    await limiter.reset(partition)
    expect(await available(limiter, 'a', 'x')).toEqual([10, 100])
  })

  it('follows the mode when one of the nodes is gone, and has charged nothing at the other', async () => {
    const limiter = open([user, team], { timeoutMs: 500 })
    const away = await cluster.ownerOf(await cluster.slotOf('{account:x}'))
    let client = 'a'
    while ((await cluster.ownerOf(await cluster.slotOf(`{client:${client}}`))).port === away.port)
      client += 'a'
    expect((await limiter.consume({ client, account: 'x' })).outcome).toBe('admitted')
    away.server.signal('SIGSTOP')
    expect((await limiter.consume({ client, account: 'x' })).outcome).toBe('unavailable')
    away.server.signal('SIGCONT')
    await until(
      'the store answers',
      async () => (await limiter.peek({ client, account: 'x' })).source === 'store',
    )
    expect(await available(limiter, client, 'x')).toEqual([9, 99])
  })
})

describe('with slotBy', () => {
  const options: RedisStoreOptions = { slotBy: 'account' }

  it('all that a call charges is kept with one partition, in which the others are counted', async () => {
    const limiter = open(
      [user, slidingWindowLog({ name: 'log', quota: 5, windowSeconds: 60 }), team],
      options,
    )
    await limiter.consume({ client: 'a', account: 'x' })
    await limiter.consume({ client: 'a', account: 'y' })
    await limiter.consume({ client: 'a', account: 'y' })
    const left = async (account: string) => {
      const decision = await limiter.peek({ client: 'a', account })
      return 'limits' in decision ? decision.limits.map((limit) => limit.available) : []
    }
    expect([await left('x'), await left('y')]).toEqual([
      [9, 4, 99],
      [8, 3, 98],
    ])
    expect(await cluster.keys()).toEqual(
      ['x', 'y'].flatMap((account) =>
        ['', '/client:a', '/client:a|log:log'].map((rest) => `rl1:{account:${account}}${rest}`),
      ),
    )
  })

  it('a decision takes one call of one script', async () => {
    const limiter = open([user, team], options)
    await limiter.consume({ client: 'a', account: 'x' })
    const { redis } = await cluster.ownerOf(await cluster.slotOf('{account:x}'))
    await redis.config('RESETSTAT')
    await limiter.consume({ client: 'b', account: 'x' })
    expect(await redis.info('commandstats')).toMatch(/cmdstat_evalsha:calls=1,/)
  })

  it('a call must name the partition, and a policy must count it', async () => {
    const limiter = open([user, team], options)
    // @ts-expect-error: no account
    await expect(limiter.consume({ client: 'a' })).rejects.toMatchObject({
      name: 'PartitionError',
      kind: 'account',
    })
    expect(() => open([user], options)).toThrow(
      'Expected slotBy of the store to be a kind that a policy counts by ("client"), got "account"',
    )
    expect(() => redisStore(ioredis(), { slotBy: 'a b' })).toThrow(
      'Expected slotBy to be a kind of partition',
    )
  })

  it('a block is of one within the partition, or of the partition itself', async () => {
    const limiter = open([user, team], options)
    const outcome = async (client: string, account: string) =>
      (await limiter.consume({ client, account })).outcome
    await limiter.block({ client: 'a', account: 'x' }, 60)
    expect([await outcome('a', 'x'), await outcome('a', 'y'), await outcome('b', 'x')]).toEqual([
      'blocked',
      'admitted',
      'admitted',
    ])
    await limiter.block({ account: 'y' }, 60)
    expect([await outcome('a', 'y'), await outcome('b', 'y'), await outcome('b', 'x')]).toEqual([
      'blocked',
      'blocked',
      'admitted',
    ])
    await expect(limiter.block({ client: 'a' }, 60)).rejects.toMatchObject({ kind: 'account' })
  })
})

describe('a check of a Cluster looks at every master', () => {
  const find = () => open([user]).check()
  const nameOf = ({ port }: { readonly port: number }) => `127.0.0.1:${port}`

  it('finds nothing where all is well, and leaves nothing behind', async () => {
    expect(await find()).toEqual([])
    expect(await cluster.keys()).toEqual([])
  })

  it.each([0, 1, 2])('and names it: number %i drops keys, and answers nothing', async (nth) => {
    const master = cluster.masters[nth] as (typeof cluster.masters)[0]
    await master.redis.config('SET', 'maxmemory', '100mb')
    await master.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    onTestFinished(async () => {
      await master.redis.config('SET', 'maxmemory', '0')
      await master.redis.config('SET', 'maxmemory-policy', 'noeviction')
    })
    expect(await find()).toMatchObject([
      { code: 'eviction', problem: expect.stringContaining(`On ${nameOf(master)}: When its memory is full`) },
    ])
    if (nth > 0) return
    await master.redis.client('PAUSE', 3000)
    expect(await find()).toMatchObject([
      { code: 'unreachable', problem: expect.stringContaining(`On ${nameOf(master)}: `) },
    ])
    await master.redis.ping()
  })

  it('and tells what is the same on all of them once', async () => {
    for (const { redis } of cluster.masters) await redis.call('ACL', 'SETUSER', 'default', '-time')
    onTestFinished(async () => {
      for (const { redis } of cluster.masters) await redis.call('ACL', 'SETUSER', 'default', '+time')
    })
    const names = cluster.masters.map(nameOf).sort().join(', ')
    expect(await find()).toMatchObject([
      { code: 'permissions', problem: expect.stringContaining(`On ${names}: `) },
    ])
  })

  it('and finds slots that nobody has', async () => {
    const nodes = [...cluster.masters, ...cluster.replicas]
    const slot = await cluster.slotOf('nobody')
    const owner = await cluster.ownerOf(slot)
    for (const { redis } of nodes) {
      await redis.config('SET', 'cluster-require-full-coverage', 'no')
      await redis.cluster('DELSLOTS', slot)
    }
    onTestFinished(async () => void (await owner.redis.cluster('ADDSLOTS', slot)))
    expect(await find()).toMatchObject([
      { code: 'coverage', problem: expect.stringContaining(`(1, the first is ${slot})`) },
    ])
  })
})
