import { createLimiter, fixedWindow, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { describe, expect, it } from 'vitest'
import { majors, serve } from './helper.js'

const plans = {
  free: [tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 1 })],
  pro: [
    tokenBucket({ name: 'burst', capacity: 20, refillPerSecond: 1 }),
    fixedWindow({ name: 'daily', quota: 1000, windowSeconds: 86_400, by: 'account' }),
  ],
} as const

describe.each(majors)('plans on %s', (_, express) => {
  async function start(options: object = {}) {
    const app = express()
    app.use(
      rateLimit({
        limiter: createLimiter({ plans, defaultPlan: 'free' }),
        partition: (req) => ({
          client: req.get('x-api-key') as string,
          account: req.get('x-account') as string,
        }),
        plan: (req) => req.get('x-plan') ?? 'free',
        ...options,
      }),
    )
    app.get('/', (_req, res) => {
      res.send('done')
    })
    return serve(app)
  }
  const pro = { 'x-api-key': 'a', 'x-plan': 'pro', 'x-account': 'x' }

  it('state the numbers of the plan that the call was judged by', async () => {
    const { ask } = await start()
    const free = await ask('/', { headers: { 'x-api-key': 'a' } })
    expect(free.headers['ratelimit-policy']).toBe('"burst";q=2;w=2;ratepact-refill="bucket"')
    const paid = await ask('/', { headers: pro })
    expect(paid.headers['ratelimit-policy']).toBe(
      '"burst";q=20;w=20;ratepact-refill="bucket", "daily";q=1000;w=86400;ratepact-refill="window"',
    )
    expect(paid.headers.ratelimit).toMatch(/^"burst";r=18;t=18;\S+, "daily";r=999;t=\d+;/)
  })

  it('need only the kinds that they count', async () => {
    const { ask } = await start({ missingPartition: 'reject' })
    expect((await ask('/', { headers: { 'x-api-key': 'a' } })).status).toBe(200)
    expect((await ask('/', { headers: { ...pro, 'x-account': '' } })).status).toBe(500)
    const skipping = await start({ missingPartition: 'skip' })
    const skipped = await skipping.ask('/', { headers: { ...pro, 'x-account': '' } })
    expect([skipped.status, skipped.headers.ratelimit]).toEqual([200, undefined])
    expect((await skipping.ask('/', { headers: { 'x-api-key': 'a' } })).headers.ratelimit).toMatch(
      /^"burst";r=1/,
    )
  })

  it('may be given to the middleware itself, and a plan that fails is an error', async () => {
    const app = express()
    app.use(
      rateLimit({
        plans,
        defaultPlan: 'free',
        partition: () => ({ client: 'a', account: 'x' }),
        plan: async (req) => {
          if (req.get('x-plan') === 'broken') throw new Error('no database')
          return 'pro'
        },
      }),
    )
    app.get('/', (_req, res) => {
      res.send('done')
    })
    const { ask } = await serve(app)
    expect((await ask('/')).headers.ratelimit).toMatch(/^"burst";r=19/)
    expect((await ask('/', { headers: { 'x-plan': 'broken' } })).status).toBe(500)
  })
})
