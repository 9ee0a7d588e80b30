// Uses a limiter once and then has nothing more to do: the process must end by itself, and with nothing unhandled.
import { createLimiter, tokenBucket } from '@ratepact/server'
import { type RedisClient, redisStore } from '@ratepact/server/redis'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'

process.on('unhandledRejection', (error) => {
  console.error(error)
  process.exit(3)
})
const [way, ...ports] = process.argv.slice(2)
const nodes = ports.map((port) => ({ host: '127.0.0.1', port: Number(port) }))

function connect(): RedisClient {
  switch (way) {
    case 'cluster':
      return new Cluster(nodes, { lazyConnect: true })
    case 'node-redis':
      return createClient({ socket: { host: '127.0.0.1', port: nodes[0]?.port ?? 0 } })
    case 'node-redis cluster':
      return createCluster({ rootNodes: nodes.map((socket) => ({ socket })) })
    default:
      return new Redis({ sentinels: nodes, name: 'mymaster', lazyConnect: true })
  }
}

const policies = [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1 })]
const limiter = createLimiter({ policies, store: redisStore(connect()) })
await limiter.consume('a')
