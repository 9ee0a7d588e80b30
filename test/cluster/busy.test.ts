import { createLimiter, fixedWindow, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCluster, type TestCluster } from './cluster.js'

let cluster: TestCluster
let client: Cluster
beforeAll(async () => {
  cluster = await startCluster()
  client = new Cluster([...cluster.addresses])
}, 60_000)
afterAll(async () => {
  client.disconnect()
  await cluster.stop()
})

it('the shards of one partition live on all nodes, each within its own tag', {
  timeout: 60_000,
}, async () => {
  await cluster.flush()
  const limiter = createLimiter({
    store: redisStore(client, { timeoutMs: 20_000 }),
    policies: [tokenBucket({ name: 'tenant', capacity: 800, refillPerSecond: 0.001, by: 'tenant' })],
    shards: { tenant: 8 },
    onStoreFailure: 'closed',
    denyCache: false,
  })
  let admitted = 0
  for (let i = 0; i < 1200; i += 1) if ((await limiter.consume({ tenant: 'acme' })).allowed) admitted += 1
  expect(admitted).toBeLessThanOrEqual(800)
  expect(admitted).toBeGreaterThan(750)
  const keys = await Promise.all(cluster.masters.map(({ redis }) => redis.keys('*')))
  expect(keys.flat().sort()).toEqual(Array.from({ length: 8 }, (_, i) => `rl1:{tenant:acme#${i}}`))
  expect(keys.filter((own) => own.length > 0).length).toBeGreaterThan(1)
  await limiter.close()
})

it('leases of policies on several nodes keep each of their quotas', { timeout: 60_000 }, async () => {
  await cluster.flush()
  const open = () =>
    createLimiter({
      store: redisStore(client, { timeoutMs: 20_000 }),
      policies: [
        fixedWindow({ name: 'account', quota: 500, windowSeconds: 86_400 * 30, by: 'account' }),
        tokenBucket({ name: 'client', capacity: 300, refillPerSecond: 0.001 }),
      ],
      leases: { seconds: 60 },
      onStoreFailure: 'closed',
    })
  const limiters = [open(), open()]
  const sources = new Set<string>()
  const admitted = { a: 0, b: 0 }
  for (let i = 0; i < 400; i += 1)
    for (const limiter of limiters)
      for (const who of ['a', 'b'] as const) {
        const { allowed, source } = await limiter.consume({ account: 'acme', client: who })
        sources.add(source)
        if (allowed) admitted[who] += 1
      }
  expect(sources).toContain('lease')
  expect(Math.max(admitted.a, admitted.b)).toBeLessThanOrEqual(300)
  expect(admitted.a + admitted.b).toBeLessThanOrEqual(500)
  // The other of the two processes holds at most a tenth of each quota.
  expect(admitted.a + admitted.b).toBeGreaterThanOrEqual(450)
  await Promise.all(limiters.map((limiter) => limiter.close()))
  const rest = createLimiter({
    store: redisStore(client, { timeoutMs: 20_000 }),
    policies: [fixedWindow({ name: 'account', quota: 500, windowSeconds: 86_400 * 30, by: 'account' })],
  })
  const left = await rest.peek({ account: 'acme' })
  expect(left).toMatchObject({ limits: [{ available: 500 - admitted.a - admitted.b }] })
  await rest.close()
})
