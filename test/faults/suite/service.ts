import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLimiter, type LimiterEvent, type OnStoreFailure, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { type RedisClient, redisStore } from '@ratepact/server/redis'
import express from 'express'
import { until } from '../../wait.js'
import { booked, type Ledger } from './ledger.js'

/** A service on Express, all of whose requests are counted for one partition of its own. */
export interface Service {
  readonly port: number
  readonly events: readonly LimiterEvent[]
  readonly ledger: Ledger
  /** Units that are in use in Redis, when nothing is under way any more. */
  used(): Promise<number>
  stop(): Promise<void>
}

/** Far more than a test can use, so that whoever is limited is so because of the store. */
const QUOTA = 1_000_000
const requests = tokenBucket({ name: 'requests', capacity: QUOTA, refillPerSecond: 0.001 })

export async function startService(
  client: RedisClient,
  onStoreFailure: OnStoreFailure,
  timeoutMs: number,
  partition: string,
): Promise<Service> {
  const { store, ledger } = booked(redisStore(client, { timeoutMs }))
  const events: LimiterEvent[] = []
  const limiter = createLimiter({
    policies: [requests],
    store,
    onStoreFailure,
    onEvent: (event) => events.push(event),
  })
  const app = express()
  app.use(rateLimit({ limiter, partition: () => partition }))
  app.get('/', (_request, response) => {
    response.send('done')
  })
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    events,
    ledger,
    async used() {
      let used = Number.NaN
      await until('nothing is under way and the store tells', async () => {
        const decision = await limiter.peek(partition)
        if (decision.source !== 'store' || decision.outcome !== 'admitted' || ledger.pending > 0) return false
        const last = used
        used = QUOTA - (decision.limits[0]?.available ?? Number.NaN)
        return used === last
      })
      return used
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await limiter.close()
    },
  }
}
