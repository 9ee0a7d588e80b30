import { createLimiter, type Limiter, leakyBucket, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { describe, expect, it } from 'vitest'
import { handStore, majors, serve } from './helper.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })

type Method = 'end' | 'setHeader' | 'writeHead' | 'getHeader'
type Wrapped = (method: (...args: unknown[]) => unknown, ...args: unknown[]) => unknown

/** Middleware that wraps a method of the response for as long as its status is 429. */
function wrap(name: Method, wrapped: Wrapped): RequestHandler {
  return (_req, res, next) => {
    const method = (res[name] as (...args: unknown[]) => unknown).bind(res)
    Object.assign(res, {
      [name]: (...args: unknown[]) => (res.statusCode === 429 ? wrapped(method, ...args) : method(...args)),
    })
    next()
  }
}
function fails(): never {
  throw new Error('my fault')
}

describe.each(majors)('What middleware has wrapped on %s', (_, express) => {
  async function start(before: RequestHandler, options: object = {}) {
    const errors: unknown[] = []
    const report: ErrorRequestHandler = (error, _req, res, next) => {
      errors.push(error)
      if (res.headersSent) return next(error)
      if (res.statusCode < 400) res.status(500)
      res.end(`error: ${error.message}`)
    }
    const app = express()
    app.set('env', 'test')
    app.use(before)
    app.use(
      rateLimit({ policies: [one], store: handStore().store, onWarning: () => {}, ...options } as never),
    )
    app.get('/', (_req, res) => void res.send('handled'))
    app.use(report)
    const { ask } = await serve(app)
    expect((await ask('/')).body).toBe('handled')
    return { ask, errors }
  }

  it.each<Method>(['end', 'setHeader', 'writeHead', 'getHeader'])(
    'may fail in %s of a refusal: an error like any other, with nothing of the refusal',
    async (name) => {
      const { ask, errors } = await start(wrap(name, fails))
      const answer = await ask('/')
      expect([answer.status, answer.body]).toEqual([500, 'error: my fault'])
      expect(errors).toEqual([new Error('my fault')])
      for (const own of ['retry-after', 'retry-after-ms', 'cache-control', 'content-type'])
        expect(answer.headers[own]).toBeUndefined()
    },
  )

  it('may reject later', async () => {
    const { ask, errors } = await start(wrap('end', () => Promise.reject(new Error('my fault'))))
    expect((await ask('/')).status).toBe(500)
    expect(errors).toEqual([new Error('my fault')])
  })

  it('may fail once the head is sent: the answer is cut off and the error is told', async () => {
    const { ask, errors } = await start((_req, res, next) => {
      const end = res.end.bind(res)
      Object.assign(res, {
        end(...args: []) {
          if (res.statusCode !== 429) return end(...args)
          res.write('{')
          return fails()
        },
      })
      next()
    })
    await expect(ask('/')).rejects.toThrow()
    expect(errors).toEqual([new Error('my fault')])
  })

  it.each<Method>(['setHeader', 'getHeader'])(
    'may fail in %s while the user answers a refusal',
    async (name) => {
      const { ask } = await start(wrap(name, fails), {
        onDenied: (_req: unknown, res: Response) => res.end('slow down'),
      })
      expect((await ask('/')).status).toBe(500)
    },
  )

  it('may fail where the limits are stated: whoever answers does not, and is told once', async () => {
    const warnings: string[] = []
    const refuseNames: RequestHandler = (_req, res, next) => {
      const { setHeader } = res
      Object.assign(res, {
        setHeader(name: string, value: string) {
          if (name.startsWith('RateLimit')) fails()
          return setHeader.call(res, name, value)
        },
      })
      next()
    }
    const { ask, errors } = await start(refuseNames, {
      onWarning: (text: string) => warnings.push(text),
      headers: { legacy: 'draft-6' },
    })
    const answer = await ask('/')
    expect(answer.status).toBe(429)
    expect(answer.headers['retry-after']).toBe('10')
    expect(warnings).toEqual(['rateLimit could not state the limits on an answer: my fault'])
    expect(errors).toEqual([])
  })
})

describe('A next that is not of a framework', () => {
  const pass = (_req: unknown, _res: unknown, next: () => void) => next()
  const reasons: readonly (readonly [string, object])[] = [
    ['an admission', { cost: 0 }],
    ['a refusal that the user passes on', { cost: 2, onDenied: pass }],
    ['an error', { skip: fails }],
  ]

  it.each(reasons.flatMap(([when, options]) => ['throws', 'rejects'].map((how) => ({ when, options, how }))))(
    'ends the connection where it $how after $when',
    async ({ options, how }) => {
      const limit = rateLimit({ policies: [one], store: handStore().store, ...options } as never)
      let calls = 0
      const { ask } = await serve((req, res) =>
        limit(req as never, res as never, () => {
          calls += 1
          if (how === 'throws') fails()
          return Promise.reject(new Error('my fault')) as never
        }),
      )
      await expect(ask('/')).rejects.toThrow()
      expect(calls).toBeGreaterThan(0)
    },
  )
})

describe.each(majors)('A limiter that the user has wrapped on %s', (_, express) => {
  it('may fail to refund what would be held too long: the call is refused all the same', async () => {
    const limiter = createLimiter({
      policies: [leakyBucket({ name: 'queue', capacity: 10, leakPerSecond: 0.05 })],
    })
    const warnings: string[] = []
    const broken: Limiter = { ...limiter, refund: () => Promise.reject(new Error('my fault')) } as Limiter
    const app = express()
    app.use(
      rateLimit({ limiter: broken, partition: () => 'one', onWarning: (text) => void warnings.push(text) }),
    )
    app.get('/', (_req, res) => void res.send('handled'))
    const { ask } = await serve(app)
    expect([(await ask('/')).status, (await ask('/')).status, (await ask('/')).status]).toEqual([
      200, 429, 429,
    ])
    expect(warnings).toEqual(['rateLimit: refund of the limiter failed: my fault'])
  })
})
