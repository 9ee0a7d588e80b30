import { createLimiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'

let server: TestRedis
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

/** The process does nothing else for so long. */
function standStill(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

it('a process that stood still for seconds hears what Redis answered meanwhile, and gives up nothing that was charged', async () => {
  const limiter = createLimiter({
    policies: [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 0.001 })],
    store: redisStore(server.client(), { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
  })
  onTestFinished(() => limiter.close())
  await limiter.consume('a')
  const before = limiter.consume('a')
  // It has been sent, and its answer comes while nobody listens.
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setTimeout(resolve, 0))
  const late = limiter.consume('a')
  await new Promise((resolve) => setImmediate(resolve))
  standStill(2500)
  const after = limiter.consume('a')
  const decisions = await Promise.all([before, late, after])
  expect(decisions.map(({ outcome }) => outcome)).toEqual(['admitted', 'admitted', 'admitted'])
})
