import { type Store, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type { ErrorRequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { handStore, majors, serve } from './helper.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })
const report: ErrorRequestHandler = (error, _req, res, _next) => {
  if (res.statusCode < 400) res.status(500)
  res.json({ error: error.message })
}

describe.each(majors)('What may not pass on %s', (_, express) => {
  function start(options: Omit<Parameters<typeof rateLimit>[0], 'limiter' | 'policies'> & { store?: Store }) {
    const app = express()
    app.use(rateLimit({ policies: [one], store: handStore().store, ...options } as never))
    app.all('/', (_req, res) => void res.send('handled'))
    app.use(report)
    return serve(app)
  }

  describe('and is answered by the user', () => {
    it('may be let pass, and nothing of the refusal stays', async () => {
      const { ask } = await start({ onDenied: (_req, _res, next) => next() })
      const [first, second] = [await ask('/'), await ask('/')]
      expect(second.status).toBe(200)
      expect(second.body).toBe('handled')
      expect(second.raw.map(([name]) => name)).toEqual(first.raw.map(([name]) => name))
    })

    it('may be passed to the error handlers, with its status and its wait', async () => {
      const { ask } = await start({ onDenied: (_req, _res, next) => next(new Error('too often')) })
      await ask('/')
      const answer = await ask('/')
      expect(answer.status).toBe(429)
      expect(answer.headers['retry-after']).toBe('10')
      expect(answer.body).toBe('{"error":"too often"}')
    })
  })

  it('keeps the longer wait that somebody else has asked for', async () => {
    const app = express()
    app.use((_req, res, next) => {
      res.set('Retry-After', '60')
      next()
    })
    app.use(rateLimit({ policies: [one], store: handStore().store, cost: 1 }))
    app.get('/', (_req, res) => void res.end())
    const { ask } = await serve(app)
    await ask('/')
    const answer = await ask('/')
    expect(answer.status).toBe(429)
    expect(answer.headers['retry-after']).toBe('60')
    expect(answer.headers['retry-after-ms']).toBeUndefined()
  })
})
