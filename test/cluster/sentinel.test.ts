import { createLimiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { Redis as Redis6 } from 'ioredis6'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { until } from '../wait.js'
import { exitOf } from './exit.js'
import { startSentinels, type TestSentinels } from './sentinel.js'

let sentinels: TestSentinels
beforeAll(async () => {
  sentinels = await startSentinels()
})
afterAll(() => sentinels.stop())

function open(Client: typeof Redis = Redis, timeoutMs = 500) {
  const { addresses, name } = sentinels
  const client = new Client({ sentinels: [...addresses], name, lazyConnect: true })
  const limiter = createLimiter({
    policies: [tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 1e-6 })],
    store: redisStore(client, { timeoutMs }),
    onStoreFailure: 'closed',
  })
  onTestFinished(async () => {
    await limiter.close()
    client.disconnect()
  })
  return limiter
}

it('the master is found through Sentinels, with either ioredis', async () => {
  for (const Client of [Redis, Redis6 as unknown as typeof Redis])
    expect((await open(Client, 10_000).consume('a')).outcome).toBe('admitted')
  expect(await sentinels.master.client().exists('rl1:{client:a}')).toBe(1)
})

it('after a failover calls are decided by the new master, and the old one is left alone', async () => {
  const limiter = open()
  await until('it is connected', async () => (await limiter.consume('b')).outcome === 'admitted')
  await sentinels.master.client().wait(1, 1000)
  sentinels.master.signal('SIGSTOP')
  expect((await limiter.consume('b')).outcome).toBe('unavailable')
  await until(
    'the new master serves',
    async () => (await limiter.consume('b')).outcome === 'admitted',
    30_000,
  )
  const replica = sentinels.replica.client()
  expect(await replica.role()).toContain('master')
  // The old one comes back, believing for a moment that it is still the master.
  sentinels.master.signal('SIGCONT')
  await until(
    'the old master follows',
    async () => String((await sentinels.master.client().role())[0]) === 'slave',
    20_000,
  )
  expect((await limiter.consume('b')).outcome).toBe('admitted')
}, 60_000)

it('with all Sentinels gone a connection made before goes on, and a call without one is answered in time', async () => {
  const before = open()
  await until('it is connected', async () => (await before.peek('c')).source === 'store')
  await sentinels.kill()
  expect((await before.consume('c')).outcome).toBe('admitted')
  const after = open(Redis, 100)
  const from = performance.now()
  expect((await after.consume('c')).outcome).toBe('unavailable')
  expect(performance.now() - from).toBeLessThan(5000)
  const ports = sentinels.addresses.map(({ port }) => port)
  expect(await exitOf('sentinel', ...ports)).toEqual([0, null])
}, 60_000)
