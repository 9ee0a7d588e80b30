import { readProblem } from '@ratepact/contract'
import { type Store, tokenBucket } from '@ratepact/server'
import { type Denied, rateLimit } from '@ratepact/server/express'
import type { ErrorRequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { handStore, majors, serve } from './helper.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })
const report: ErrorRequestHandler = (error, _req, res, _next) => {
  if (res.statusCode < 400) res.status(500)
  res.json({ error: error.message })
}

function failingStore(run: Store['run'], timeoutMs = 20): Store {
  return { name: 'failing', timeoutMs, run, close: async () => {} }
}
const failures: readonly (readonly [how: string, store: () => Store])[] = [
  ['rejects', () => failingStore(() => Promise.reject(new Error('gone')))],
  ['never answers', () => failingStore(() => new Promise(() => {}))],
  [
    'throws',
    () =>
      failingStore(() => {
        throw new Error('gone')
      }),
  ],
  ['answers with nothing', () => failingStore(async () => [])],
]

describe.each(majors)('What may not pass on %s', (_, express) => {
  function start(options: Omit<Parameters<typeof rateLimit>[0], 'limiter' | 'policies'> & { store?: Store }) {
    const app = express()
    app.use(rateLimit({ policies: [one], store: handStore().store, ...options } as never))
    app.all('/', (_req, res) => void res.send('handled'))
    app.use(report)
    return serve(app)
  }

  it('is answered to HEAD with the same head and no body', async () => {
    const { ask } = await start({})
    await ask('/')
    const [head, get] = [await ask('/', { method: 'HEAD' }), await ask('/')]
    expect(head.status).toBe(429)
    expect(head.body).toBe('')
    expect(head.raw).toEqual(get.raw)
  })

  it('takes nothing from the connection: the next request on it is answered', async () => {
    const { port } = await start({})
    const statuses: number[] = []
    for (let i = 0; i < 3; i += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x'.repeat(100_000) })
      statuses.push(answer.status)
      await answer.text()
    }
    expect(statuses).toEqual([200, 429, 429])
  })

  it('gets a 429 without Retry-After when it costs more than there ever is', async () => {
    const { ask } = await start({ cost: 2 })
    const answer = await ask('/')
    expect(answer.status).toBe(429)
    expect(answer.raw.map(([name]) => name)).toEqual(['Cache-Control', 'Content-Type', 'Content-Length'])
    expect(readProblem(answer.headers['content-type'], answer.body)).toEqual({
      type: 'quota-exceeded',
      violatedPolicies: ['one'],
    })
    expect(JSON.parse(answer.body).detail).toBe(
      'This request costs more than "one" ever allows at once: it cannot pass, now or later.',
    )
  })

  describe.each(failures)('while the store %s', (_, store) => {
    it('passes an open limiter, with no limits stated', async () => {
      const { ask } = await start({ store: store() })
      const answer = await ask('/', { headers: { origin: 'https://page.example' } })
      expect(answer.status).toBe(200)
      expect(answer.body).toBe('handled')
      expect(answer.raw.map(([name]) => name)).toEqual(['Content-Type', 'Content-Length'])
    })

    it('is told by a closed limiter to come back, never that it called too often', async () => {
      const { ask } = await start({ store: store(), onStoreFailure: 'closed' })
      const answer = await ask('/')
      expect(answer.status).toBe(503)
      expect(answer.raw.map(([name]) => name)).toEqual([
        'Retry-After',
        'Cache-Control',
        'Content-Type',
        'Content-Length',
      ])
      expect(answer.headers['retry-after']).toBe('5')
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(JSON.parse(answer.body)).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Temporary Reduced Capacity',
        status: 503,
        detail: 'Retry in 5 seconds.',
      })
    })
  })

  describe('and is answered by the user', () => {
    it('has its status and its wait set already', async () => {
      const seen: Denied[] = []
      const { ask } = await start({
        onDenied: (_req, res, _next, decision) => {
          seen.push(decision)
          res.end('slow down')
        },
      })
      await ask('/')
      const answer = await ask('/')
      expect(answer.status).toBe(429)
      expect(answer.body).toBe('slow down')
      expect(answer.raw).toEqual([
        ['Retry-After', '10'],
        ['retry-after-ms', '10000'],
        ['Cache-Control', 'no-store'],
        ['RateLimit-Policy', '"one";q=1;w=10;ratepact-refill="bucket"'],
        ['RateLimit', '"one";r=0;t=10;ratepact-t-ms=10000'],
        ['Content-Length', '9'],
      ])
      expect(seen).toMatchObject([{ outcome: 'refused', violated: ['one'], retryAfterSeconds: 10 }])
    })

    it('may be answered later, and with another status', async () => {
      const { ask } = await start({
        onDenied: async (_req, res) => {
          await new Promise(setImmediate)
          res.statusCode = 418
          res.end()
        },
      })
      await ask('/')
      expect((await ask('/')).status).toBe(418)
    })

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

    it.each([
      [
        'throws',
        () => {
          throw new Error('my fault')
        },
      ],
      ['rejects', () => Promise.reject(new Error('my fault'))],
    ])('becomes an ordinary error when onDenied %s', async (_, onDenied) => {
      const { ask } = await start({ onDenied })
      await ask('/')
      const answer = await ask('/')
      expect(answer.status).toBe(500)
      expect(answer.body).toBe('{"error":"my fault"}')
      expect(answer.headers['retry-after']).toBeUndefined()
      expect(answer.headers['cache-control']).toBeUndefined()
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
