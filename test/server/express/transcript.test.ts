import { tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { describe, expect, it } from 'vitest'
import { handStore, majors, serve } from './helper.js'

const policies = [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] as const
const POLICY = '"burst";q=100;w=50;ratepact-refill="bucket"'

describe.each(majors)('A bucket of 100 that refills at 2 a second, on %s', (_, express) => {
  async function start() {
    const { store, pass } = handStore()
    const app = express()
    app.use(rateLimit({ policies, store }))
    app.get('/', (_req, res) => void res.end('ok'))
    return { ...(await serve(app)), pass }
  }

  it('lets 100 pass at once and then 2 a second', async () => {
    const { ask, pass } = await start()
    const burst = await Promise.all(Array.from({ length: 110 }, () => ask('/')))
    expect(burst.map(({ status }) => status).sort()).toEqual([
      ...Array(100).fill(200),
      ...Array(10).fill(429),
    ])
    for (let second = 0; second < 3; second += 1) {
      pass(1)
      const statuses = await Promise.all([ask('/'), ask('/'), ask('/')])
      expect(statuses.map(({ status }) => status).sort()).toEqual([200, 200, 429])
    }
  })

  it('states the limits of an answer byte by byte', async () => {
    const { ask } = await start()
    expect((await ask('/')).raw).toEqual([
      ['RateLimit-Policy', POLICY],
      ['RateLimit', '"burst";r=99;t=50;ratepact-t-ms=49500'],
      ['Content-Length', '2'],
    ])
  })

  it('refuses byte by byte', async () => {
    const { ask } = await start()
    await Promise.all(Array.from({ length: 100 }, () => ask('/')))
    const answer = await ask('/')
    expect(answer.status).toBe(429)
    expect(answer.raw).toEqual([
      ['Retry-After', '1'],
      ['retry-after-ms', '500'],
      ['Cache-Control', 'no-store'],
      ['Content-Type', 'application/problem+json'],
      ['Content-Length', String(answer.body.length)],
      ['RateLimit-Policy', POLICY],
      ['RateLimit', '"burst";r=0;t=1;ratepact-t-ms=500'],
    ])
    expect(JSON.parse(answer.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Retry in 1 second.',
      'violated-policies': ['burst'],
    })
  })

  it('never refuses again a client that obeys Retry-After, in seconds or in milliseconds', async () => {
    const { store, pass } = handStore()
    const app = express()
    const slow = [tokenBucket({ name: 'slow', capacity: 3, refillPerSecond: 0.37 })] as const
    app.use(rateLimit({ policies: slow, store, cost: (req) => Number(req.get('cost') ?? 1) }))
    app.get('/', (_req, res) => void res.end('ok'))
    const { ask } = await serve(app)
    const costs = [1, 3, 2]
    for (let round = 0; round < 20; round += 1) {
      const headers = { cost: String(costs[round % costs.length]) }
      let answer = await ask('/', { headers })
      while (answer.status === 200) answer = await ask('/', { headers })
      const { 'retry-after': seconds, 'retry-after-ms': ms } = answer.headers
      expect(Number(ms)).toBeLessThanOrEqual(Number(seconds) * 1000)
      pass(round % 2 === 0 ? Number(seconds) : Number(ms) / 1000)
      expect((await ask('/', { headers })).status).toBe(200)
    }
  })
})
