import { concurrency, createLimiter, fixedWindow, type Limiter, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type { ErrorRequestHandler, NextFunction, Response } from 'express'
import { describe, expect, it } from 'vitest'
import { until } from '../../wait.js'
import { handStore, majors, serve } from './helper.js'

const partition = () => 'a'
const hard = fixedWindow({ name: 'hard', quota: 5, windowSeconds: 3600 })
const soft = tokenBucket({ name: 'soft', capacity: 1, refillPerSecond: 0.001 })
const running = concurrency({ name: 'running', limit: 2, leaseSeconds: 60 })

async function left(limiter: Limiter): Promise<readonly number[]> {
  const decision = await limiter.peek('a')
  return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
}

type OnDenied = (res: Response, next: NextFunction) => unknown

describe.each(majors)('A call that onDenied lets pass on %s', (_, express) => {
  /** A limit that refuses and one after it that is used up at once, whose refusals the user answers. */
  async function start(
    onDenied: OnDenied,
    handle: (res: Response) => unknown = (res) => res.send('handled'),
  ) {
    const before = createLimiter({ policies: [hard, running], store: handStore().store })
    const limiter = createLimiter({ policies: [soft], store: handStore().store })
    await limiter.consume('a')
    const handled: unknown[] = []
    const errors: Error[] = []
    const warnings: string[] = []
    const app = express()
    app.use(rateLimit({ limiter: before, partition }))
    app.use(
      rateLimit({
        limiter,
        partition,
        onDenied: (_req, res, next) => onDenied(res as Response, next),
        onWarning: (text) => warnings.push(text),
      }),
    )
    app.get('/', (_req, res) => {
      handled.push(res)
      void handle(res)
    })
    app.use(((error, _req, res, next) => {
      errors.push(error)
      if (res.headersSent) return next(error)
      res.status(500).end('failed')
    }) satisfies ErrorRequestHandler)
    return { ...(await serve(app)), before, handled, errors, warnings }
  }

  it('stays charged by the limiters before, so that they bound what runs', async () => {
    const { ask, before, handled } = await start((_res, next) => next())
    const answers: number[] = []
    for (let i = 0; i < 8; i += 1) {
      answers.push((await ask('/')).status)
      await until('its place is free', async () => (await left(before))[1] === 2)
    }
    expect(answers).toEqual([...Array(5).fill(200), ...Array(3).fill(429)])
    expect(handled.length).toBe(5)
  })

  it('keeps the places that limiters before it have given', async () => {
    const waiting: (() => void)[] = []
    const { ask, handled } = await start(
      async (_res, next) => {
        await new Promise(setImmediate)
        next()
      },
      (res) => waiting.push(() => res.send('handled')),
    )
    const answers: number[] = []
    const asked = Array.from({ length: 6 }, async () => answers.push((await ask('/')).status))
    await until('all but two are refused', () => answers.length === 4)
    for (const end of waiting) end()
    await Promise.all(asked)
    expect(answers).toEqual([429, 429, 429, 429, 200, 200])
    expect(handled.length).toBe(2)
  })

  it.each<[string, OnDenied]>([
    ['answers', (res) => res.status(429).end('no')],
    ['answers later', (res) => void setTimeout(() => res.status(429).end('no'), 20)],
    ['passes an error on', (_res, next) => next(new Error('no'))],
    ['throws', () => Promise.reject(new Error('no'))],
  ])('is charged nowhere where onDenied %s instead', async (_how, onDenied) => {
    const { ask, before, handled } = await start(onDenied)
    expect((await ask('/')).status).not.toBe(200)
    await until('all is given back', async () => String(await left(before)) === '5,2')
    expect(handled.length).toBe(0)
  })

  it('goes on once, and what fails after that is told and disturbs nobody', async () => {
    const { ask, handled, errors, warnings, before } = await start(async (_res, next) => {
      next()
      next()
      next(new Error('too late'))
      throw new Error('my fault')
    })
    const answer = await ask('/')
    expect([answer.status, answer.body]).toEqual([200, 'handled'])
    await until('it is told', () => warnings.length > 0)
    expect(warnings).toEqual([
      expect.stringContaining('onDenied failed after it had let a call pass: my fault'),
    ])
    expect([handled.length, errors]).toEqual([1, []])
    await until('its place is free', async () => String(await left(before)) === '4,2')
  })
})
