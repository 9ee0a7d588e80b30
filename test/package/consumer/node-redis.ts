// A user's code that uses node-redis. It is apart, since its declarations take old compilers half a minute.
import type { Store } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { createClient, createCluster } from 'redis'

export function stores(): readonly Store[] {
  const rootNodes = [{ url: 'redis://127.0.0.1:7000' }]
  return [redisStore(createClient()), redisStore(createCluster({ rootNodes }))]
}
