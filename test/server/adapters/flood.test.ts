import { createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startRedis } from '../../redis.js'
import { fronts } from './fronts.js'

const METHODS = ['GET', 'POST', 'PROPFIND', 'PURGE', 'MKCOL']

describe.each(fronts)('Requests that differ in all that a client can choose, on $name', ({ open }) => {
  it('make a bucket for each method that is known, and one for all others', async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const client = new Redis({ port: server.port, host: '127.0.0.1' })
    client.on('error', () => {})
    const limiter = createLimiter({
      store: redisStore(client, { timeoutMs: 5000 }),
      policies: [tokenBucket({ name: 'scoped', capacity: 10_000, refillPerSecond: 1, perScope: true })],
    })
    onTestFinished(async () => {
      await limiter.close()
      client.disconnect()
    })
    const { ask } = await open([{ limiter: limiter as Limiter, onWarning: () => {} }])
    const forged = (i: number) => ({
      method: METHODS[i % METHODS.length] as string,
      headers: {
        'x-forwarded-for': `203.0.${i % 256}.${i >> 8}`,
        forwarded: `for=203.0.113.${i % 256}`,
        'x-real-ip': `198.51.100.${i % 256}`,
        'x-api-key': `key-${i}`,
        'x-http-method-override': `METHOD-${i}`,
      },
    })
    const asked = Array.from({ length: 200 }, (_, i) => ask(`/?page=${i}`, forged(i)))
    for (const { status } of await Promise.all(asked)) expect([200, 404, 405]).toContain(status)
    // Frameworks that refuse a method by themselves do not come to ask; none makes more.
    expect(await client.dbsize()).toBeLessThanOrEqual(3)
    expect(await client.dbsize()).toBeGreaterThanOrEqual(2)
  })
})
