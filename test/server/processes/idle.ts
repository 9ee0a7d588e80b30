// Uses a limiter once and then has nothing more to do: the process must end by itself, and with nothing unhandled.
import { createLimiter, memoryStore, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'

process.on('unhandledRejection', (error) => {
  console.error(error)
  process.exit(3)
})
const [port, state] = process.argv.slice(2)
const client = new Redis({ port: Number(port), host: '127.0.0.1', lazyConnect: true })
const policies = [tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 1 })]
const limiter = createLimiter({ policies, store: redisStore(client) })
const leased = createLimiter({ policies, store: redisStore(client), leases: {} })
for (let i = 0; i < 20; i += 1) await leased.consume('b')
const inMemory = createLimiter({ policies, store: memoryStore() })
const local = createLimiter({
  policies,
  store: redisStore(client),
  onStoreFailure: { local: { instances: 2 } },
  logger: { info() {}, warn() {}, error: () => Promise.reject(new Error('no log')) },
})
for (let i = 0; i < 5; i += 1) await local.consume('c')
await Promise.all([limiter.consume('a'), inMemory.consume('a')])
if (state === 'closed') await Promise.all([limiter.close(), leased.close(), local.close(), local.close()])
if (state === 'closed under calls') {
  const calls = [limiter, leased, local].flatMap((each) => [each.consume('d'), each.peek('d'), each.check()])
  await Promise.all([limiter, leased, local].map((each) => each.close()))
  await Promise.all(calls)
}
