import { createLimiter, type LimiterEvent, type OnStoreFailure, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort, startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'
import { type Answer, majors, serve } from './helper.js'

const policies = [tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 0.001 })] as const

const outages: Record<string, (server: TestRedis) => void> = {
  killed: (server) => server.signal('SIGKILL'),
  stopped: (server) => server.signal('SIGSTOP'),
}

function expectUnchecked({ status, headers, body }: Answer): void {
  expect([status, body]).toEqual([200, 'done'])
  expect([headers.ratelimit, headers['ratelimit-policy'], headers['retry-after']]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect([status, headers['retry-after'], headers['content-type'], headers['cache-control']]).toEqual([
    503,
    '5',
    'application/problem+json',
    'no-store',
  ])
  expect(JSON.parse(body)).toMatchObject({
    type: expect.stringMatching(/#temporary-reduced-capacity$/),
    status: 503,
  })
  expect([headers.ratelimit, headers['ratelimit-policy']]).toEqual([undefined, undefined])
}

describe.each(majors)('a service on %s', (_, express) => {
  async function start(port: number, onStoreFailure: OnStoreFailure) {
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true })
    client.on('error', () => {})
    const events: LimiterEvent[] = []
    const limiter = createLimiter({
      policies,
      store: redisStore(client),
      onStoreFailure,
      onEvent: (event) => events.push(event),
    })
    onTestFinished(async () => {
      await limiter.close()
      client.disconnect()
    })
    const app = express()
    app.use(rateLimit({ limiter, partition: () => 'one' }))
    app.get('/', (_request, response) => {
      response.send('done')
    })
    const { ask } = await serve(app)
    return { ask: () => ask('/'), events }
  }

  describe.each([
    ['open', expectUnchecked],
    ['closed', expectUnavailable],
  ] as const)('that is %s without Redis', (mode, expectAnswer) => {
    it.each(Object.entries(outages))(
      'says so from the first request after Redis was %s, and limits again when it is back',
      async (_how, strike) => {
        const server = await startRedis()
        onTestFinished(() => server.stop())
        const { ask, events } = await start(server.port, mode)
        const limits = async () => (await ask()).headers.ratelimit !== undefined
        await until('it limits', limits)
        events.length = 0
        strike(server)
        for (let request = 0; request < 3; request += 1) expectAnswer(await ask())
        // The answer was given by our own deadline, or because the connection was seen to be gone; never by patience.
        expect(events).toMatchObject([
          { type: 'degraded', mode, calls: 1 },
          { type: 'breaker', state: 'open' },
        ])
        server.signal('SIGCONT')
        if (_how === 'killed') await server.restart()
        await until('it limits again', limits)
        expect(events.at(-1)).toMatchObject({ type: 'recovered' })
      },
    )

    it('says so when Redis was never up, and limits when it comes', async () => {
      const port = await freePort()
      const { ask, events } = await start(port, mode)
      expectAnswer(await ask())
      expect(events).toMatchObject([{ type: 'degraded', mode }])
      const server = await startRedis({ port })
      onTestFinished(() => server.stop())
      await until('it limits', async () => (await ask()).headers.ratelimit !== undefined)
    })
  })
})
