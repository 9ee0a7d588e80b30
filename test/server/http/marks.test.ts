import { createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import type { RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { until } from '../../wait.js'
import { handStore, majors, serve } from '../express/helper.js'

const partition = () => 'one'
const limiterOf = (name: string, capacity: number) =>
  createLimiter({
    policies: [tokenBucket({ name, capacity, refillPerSecond: 0.001 })],
    store: handStore().store,
  }) as Limiter
async function left(limiter: Limiter): Promise<number | undefined> {
  const decision = await limiter.peek('one')
  return 'limits' in decision ? decision.limits[0]?.available : undefined
}

describe.each(majors)('What limiters note of a request on %s', (_, express) => {
  it('is of that request alone, though all of them have one object for locals', async () => {
    const limiter = limiterOf('all', 3)
    const warnings: string[] = []
    const locals = {}
    const app = express()
    app.use((_req, res, next) => {
      res.locals = locals
      next()
    })
    app.use(expressLimit({ limiter, partition, onWarning: (text) => warnings.push(text) }))
    app.get('/', (_req, res) => void res.send('done'))
    const { ask } = await serve(app)
    const answers = [await ask('/'), await ask('/'), await ask('/'), await ask('/'), await ask('/')]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])
    expect(answers.map(({ headers }) => String(headers.ratelimit).slice(0, 9))).toEqual(
      [2, 1, 0, 0, 0].map((units) => `"all";r=${units}`),
    )
    expect(warnings).toEqual([])
  })

  it('stays where locals are replaced between two of them', async () => {
    const [wide, narrow] = [limiterOf('wide', 10), limiterOf('narrow', 1)]
    const replace: RequestHandler = (_req, res, next) => {
      res.locals = { user: 'Ann' }
      next()
    }
    const app = express()
    app.use(expressLimit({ limiter: wide, partition }), replace, expressLimit({ limiter: narrow, partition }))
    app.get('/', (_req, res) => void res.send('done'))
    const { ask } = await serve(app)
    expect(String((await ask('/')).headers.ratelimit)).toMatch(/^"wide";r=9.*, "narrow";r=0/)
    expect((await ask('/')).status).toBe(429)
    await until('it is given back', async () => (await left(wide)) === 9)
  })
})

describe('What fetch limiters note of a Request', () => {
  it('is not taken for one call where several come with it at once', async () => {
    const [wide, narrow] = [limiterOf('wide', 10), limiterOf('narrow', 1)]
    const request = new Request('http://api.test/')
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const alone = fetchLimit({ limiter: narrow, partition })(async () => {
      await ended
      return new Response('done')
    })
    const first = alone(request)
    expect((await alone(request)).status).toBe(429)
    end()
    expect((await first).status).toBe(200)
    await new Promise(setImmediate)
    expect(await left(narrow)).toBe(0)

    const both = fetchLimit({ limiter: wide, partition })(alone)
    expect((await Promise.all([both(request), both(request)])).map(({ status }) => status)).toEqual([
      429, 429,
    ])
    await new Promise(setImmediate)
    // What is whose cannot be told, so it stays charged.
    expect(await left(wide)).toBe(8)
    expect((await both(request)).status).toBe(429)
  })

  it('needs no room on it', async () => {
    const handle = fetchLimit({ limiter: limiterOf('all', 1), partition })(() => new Response('done'))
    const request = Object.freeze(new Request('http://api.test/'))
    expect([(await handle(request)).status, (await handle(request)).status]).toEqual([200, 429])
  })
})
