// A user's code that uses the peers: Express, Fastify, ioredis, MSW, OpenTelemetry, prom-client and undici.
import { pace } from '@ratepact/client/undici'
import { clientAddress, createLimiter, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { rateLimit as fastifyLimit, rateLimitPlugin } from '@ratepact/server/fastify'
import { openTelemetryMetrics } from '@ratepact/server/opentelemetry'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import { redisStore } from '@ratepact/server/redis'
import { limitedApi, testClock } from '@ratepact/testing'
import { limitedHandlers } from '@ratepact/testing/msw'
import express from 'express'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { Redis } from 'ioredis'
import { setupServer } from 'msw/node'
import { Registry } from 'prom-client'
import { Agent, type Dispatcher, interceptors } from 'undici'

export function serve(): express.Express {
  const redis = new Redis({ lazyConnect: true })
  const limiter = createLimiter({
    store: redisStore(redis, { prefix: 'rl', timeoutMs: 50 }),
    policies: [
      tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 }),
      tokenBucket({ name: 'daily', capacity: 1000, refillPerSecond: 0.01, by: 'account' }),
    ],
  })
  const app = express()
  app.use(
    rateLimit({
      limiter,
      partition: (req, res) => ({
        client: res.locals.clientId ?? clientAddress(req),
        account: res.locals.accountId,
      }),
      onDenied: (_req: express.Request, res: express.Response, next: express.NextFunction, decision) => {
        if (decision.outcome === 'refused')
          res.json({ after: decision.retryAfterSeconds, by: decision.violated })
        else next()
      },
    }),
  )
  // @ts-expect-error: account is missing
  app.use(rateLimit({ limiter, partition: () => ({ client: 'a' }) }))
  return app
}

export function watch(): express.Express {
  const metrics = [prometheusMetrics({ register: new Registry(), top: 10 }), openTelemetryMetrics()]
  const policies = [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] as const
  return express().use(rateLimit({ policies, metrics, name: 'api' }))
}

export function plug(): FastifyInstance {
  const policies = [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] as const
  const app = Fastify()
  app.register(rateLimitPlugin({ policies }))
  const onRequest = fastifyLimit({ policies, partition: (request: FastifyRequest) => request.ip })
  app.get('/', { onRequest }, async () => 'done')
  return app
}

export function dispatcher(): Dispatcher {
  return new Agent().compose(interceptors.redirect({ maxRedirections: 3 }), pace({ maxWaitSeconds: 5 }))
}

export function test(): ReturnType<typeof setupServer> {
  const api = limitedApi({
    clock: testClock(),
    policies: [tokenBucket({ name: 'burst', capacity: 20, refillPerSecond: 2 })],
  })
  return setupServer(...limitedHandlers(api, 'https://api.example/*'))
}
