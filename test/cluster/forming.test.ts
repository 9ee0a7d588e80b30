import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLimiter, type LimiterEvent, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Cluster } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { startRedis } from '../redis.js'
import { until } from '../wait.js'
import { SLOTS } from './cluster.js'

it('a call made before anybody has the slots is sent when somebody has, without a call after it', async () => {
  const file = `forming-${process.pid}.conf`
  onTestFinished(() => rm(join(tmpdir(), file), { force: true }))
  const server = await startRedis({
    config: ['--cluster-enabled', 'yes', '--cluster-config-file', file],
  })
  onTestFinished(() => server.stop())
  const redis = server.client()
  const client = new Cluster([{ host: '127.0.0.1', port: server.port }], { lazyConnect: true })
  client.on('error', () => {})
  const events: LimiterEvent[] = []
  const limiter = createLimiter({
    policies: [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1e-6 })],
    store: redisStore(client, { timeoutMs: 60_000 }),
    onEvent: (event) => events.push(event),
  })
  onTestFinished(async () => {
    await limiter.close()
    client.disconnect()
  })
  const call = limiter.consume('a')
  const asked = async () =>
    Number(/cmdstat_cluster\|slots:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0)
  await until(
    'the table of slots has been read in vain, by the client and by the limiter',
    async () => (await asked()) >= 3,
  )
  await redis.cluster('ADDSLOTS', ...Array.from({ length: SLOTS }, (_, slot) => slot))
  const { source } = await call
  // A node that has just got its slots may say that the cluster is down yet, but it has been asked.
  if (source !== 'store') expect(events[0]).toMatchObject({ error: { code: 'CLUSTERDOWN' } })
  await until('it is counted', async () => (await limiter.consume('a')).source === 'store')
})
