import { createLimiter, type Policy, slidingWindowLog, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../wait.js'
import { type ClusterNode, startCluster, type TestCluster } from './cluster.js'

let cluster: TestCluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster.stop())

function open(policies: readonly Policy[], client = ioredis() as Cluster | ReturnType<typeof nodeRedis>) {
  const limiter = createLimiter({
    policies,
    store: redisStore(client, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    denyCache: false,
  })
  onTestFinished(() => limiter.close())
  return limiter
}

const ioredis = () => new Cluster([...cluster.addresses], { lazyConnect: true })
const nodeRedis = () => createCluster({ rootNodes: cluster.addresses.map((socket) => ({ socket })) })

/** Moves a slot to another master key by key, as redis-cli does; `midway` while some of its keys are here and some there. */
async function move(slot: number, midway: () => Promise<unknown> = async () => {}): Promise<void> {
  const from = await cluster.ownerOf(slot)
  const to = cluster.masters.find((node) => node !== from) as ClusterNode
  await to.redis.cluster('SETSLOT', slot, 'IMPORTING', from.id)
  await from.redis.cluster('SETSLOT', slot, 'MIGRATING', to.id)
  const keys = await from.redis.cluster('GETKEYSINSLOT', slot, 1000)
  for (const [i, key] of keys.entries()) {
    await from.redis.call('MIGRATE', '127.0.0.1', String(to.port), key, '0', '1000')
    if (i === 0) await midway()
  }
  if (keys.length === 0) await midway()
  for (const node of [to, from, ...cluster.masters]) await node.redis.cluster('SETSLOT', slot, 'NODE', to.id)
}

describe.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
] as const)('while a slot moves from node to node, through %s,', (_, connect) => {
  it('every call is decided and charged exactly once', async () => {
    const who = `moving-${connect.name}`
    const limiter = open([tokenBucket({ name: 'burst', capacity: 400, refillPerSecond: 1e-6 })], connect())
    const slot = await cluster.slotOf(`{client:${who}}`)
    const counts = new Map<string, number>()
    let running = true
    const load = Array.from({ length: 8 }, async () => {
      while (running) {
        const { outcome } = await limiter.consume(who)
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    })
    for (let round = 0; round < 3; round += 1) {
      const before = counts.get('admitted') ?? 0
      await move(slot, () =>
        until('calls go to the new node', () => (counts.get('admitted') ?? 0) >= before + 20),
      )
    }
    running = false
    await Promise.all(load)
    expect([...counts.keys()].filter((outcome) => !['admitted', 'refused'].includes(outcome))).toEqual([])
    const decision = await limiter.peek(who)
    const left = 'limits' in decision ? decision.limits[0]?.available : undefined
    expect(left).toBe(400 - (counts.get('admitted') ?? 0))
  })
})

it('a call waits whose keys are some here and some there, and is charged once when they are together', async () => {
  const limiter = open([
    tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1e-6 }),
    slidingWindowLog({ name: 'log', quota: 10, windowSeconds: 3600 }),
  ])
  expect((await limiter.consume('two')).outcome).toBe('admitted')
  let calls: Promise<unknown> = Promise.resolve()
  await move(await cluster.slotOf('{client:two}'), async () => {
    calls = limiter.consume('two')
  })
  expect(await calls).toMatchObject({ outcome: expect.stringMatching(/^(admitted|unavailable)$/) })
  const { outcome } = (await calls) as { outcome: string }
  const used = outcome === 'admitted' ? 2 : 1
  expect(await limiter.peek('two')).toMatchObject({
    limits: [{ available: 10 - used }, { available: 10 - used }],
  })
})

it('calls are decided again soon after a master has died and its replica taken over', async () => {
  const limiter = createLimiter({
    policies: [tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 1e-6 })],
    store: redisStore(ioredis(), { timeoutMs: 200 }),
    onStoreFailure: 'closed',
    denyCache: false,
  })
  onTestFinished(() => limiter.close())
  await until('it is connected', async () => (await limiter.consume('a')).outcome === 'admitted')
  const master = await cluster.ownerOf(await cluster.slotOf('{client:a}'))
  // What a replica has not got yet is lost with its master.
  await master.redis.wait(1, 1000)
  master.server.signal('SIGKILL')
  expect((await limiter.consume('a')).outcome).toBe('unavailable')
  await until('the replica serves', async () => (await limiter.consume('a')).outcome === 'admitted', 20_000)
  expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 998 }] })
  expect((await cluster.ownerOf(await cluster.slotOf('{client:a}'))).port).not.toBe(master.port)
})
