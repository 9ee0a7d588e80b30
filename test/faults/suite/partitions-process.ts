// Meets many different callers while there is no Redis, and prints what of the memory is in use on the way, in MB.
import { createLimiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'

const [port, callers] = process.argv.slice(2).map(Number)
const client = new Redis({ port: port ?? 0, host: '127.0.0.1', lazyConnect: true })
client.on('error', () => {})
const limiter = createLimiter({
  policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 1 })],
  store: redisStore(client, { timeoutMs: 50 }),
  onStoreFailure: { local: { instances: 4 } },
})

const PARTS = 10
const AT_ONCE = 1000
for (let part = 0; part < PARTS; part += 1) {
  for (let done = 0; done < (callers ?? 0) / PARTS; done += AT_ONCE) {
    const calls = Array.from({ length: AT_ONCE }, (_, i) => limiter.consume(`caller-${part}-${done + i}`))
    for (const { source, outcome } of await Promise.all(calls))
      if (source !== 'local' || outcome !== 'admitted') throw new Error(`${outcome} by ${source}`)
  }
  globalThis.gc?.()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  console.log(JSON.stringify([rss, heapUsed + arrayBuffers].map((bytes) => Math.round(bytes / 1e6))))
}
await limiter.close()
