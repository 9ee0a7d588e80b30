// One of several processes that make calls at once. Reads what to do from its arguments, prints how many were admitted.
import { createLimiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'

const [port, calls, way] = process.argv.slice(2)
const client = new Redis({ port: Number(port), host: '127.0.0.1' })

async function throughLimiter(): Promise<boolean> {
  return (await limiter.consume('hot')).allowed
}

/** What a limiter must not be: read, decide, write. */
async function getThenSet(): Promise<boolean> {
  const used = Number(await client.get('hot'))
  if (used >= 100) return false
  await client.set('hot', used + 1)
  return true
}

const limiter = createLimiter({
  policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 1e-6 })],
  store: redisStore(client, { timeoutMs: 60_000 }),
  onStoreFailure: 'closed',
})
await limiter.peek('hot')
process.stdout.write('ready\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
const call = way === 'limiter' ? throughLimiter : getThenSet
const admitted = await Promise.all(Array.from({ length: Number(calls) }, call))
process.stdout.write(`${admitted.filter(Boolean).length}\n`)
await limiter.close()
client.disconnect()
process.stdin.destroy()
