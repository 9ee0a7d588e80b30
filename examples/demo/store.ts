import { memoryStore, type Store } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { startRedisServer } from './redis-server.js'

/** Where the demo counts. */
export interface DemoStore {
  readonly name: 'redis' | 'memory'
  /** For a person: which one, and why. */
  readonly about: string
  readonly store: Store
  /** Ends what was started for it; the store itself is closed with its limiter. */
  stop(): Promise<void>
}

/** The Redis of REDIS_URL, else one of its own, else memory. @throws Error when REDIS_URL does not answer */
export async function openStore(redisUrl: string | undefined): Promise<DemoStore> {
  if (redisUrl) return connect(redisUrl, 'Redis, the one in REDIS_URL', async () => {})
  const server = await startRedisServer()
  if (server === undefined) return inMemory('REDIS_URL is not set and there is no redis-server on the PATH')
  try {
    return await connect(server.url, `Redis, started for this demo at ${server.url}`, server.stop)
  } catch {
    await server.stop()
    return inMemory('the redis-server on the PATH does not start')
  }
}

function inMemory(why: string): DemoStore {
  return { name: 'memory', about: `memory: ${why}`, store: memoryStore(), stop: async () => {} }
}

async function connect(url: string, about: string, stop: () => Promise<void>): Promise<DemoStore> {
  const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  let problem: Error | undefined
  redis.on('error', (error) => {
    problem = error
  })
  const patience = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error(`No Redis answers (${about}): ${problem?.message}`)), 5000).unref()
  })
  try {
    await Promise.race([redis.ping(), patience])
  } catch (error) {
    redis.disconnect()
    throw error
  }
  return {
    name: 'redis',
    about,
    // Every call is to be counted, however busy the machine is.
    store: redisStore(redis, { prefix: 'ratepact-demo', timeoutMs: 2000 }),
    async stop() {
      redis.disconnect()
      await stop()
    },
  }
}
