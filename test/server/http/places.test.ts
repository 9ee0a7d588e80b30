import { concurrency, createLimiter, type Decision, type Limiter, leakyBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../wait.js'
import { majors, serve } from '../express/helper.js'

const url = 'http://api.test/'
function places(leaseSeconds: number): Limiter {
  return createLimiter({ policies: [concurrency({ name: 'running', limit: 1, leaseSeconds })] })
}
const isFree = async (limiter: Limiter) => (await limiter.peek('one')).allowed
/** Longer than a lease of 0.3 s lasts without being made to last anew. */
async function staysTaken(limiter: Limiter): Promise<void> {
  const since = performance.now()
  while (performance.now() - since < 900) {
    expect(await isFree(limiter)).toBe(false)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

describe('The place of a fetch handler', () => {
  it('is given back at once when HEAD is answered, whatever body the handler has made', async () => {
    const limiter = places(60)
    const handle = fetchLimit({ limiter, partition: () => 'one' })(() => new Response('for nobody'))
    const answer = await handle(new Request(url, { method: 'HEAD' }))
    expect(answer.headers.get('ratelimit')).toBe('"running";r=0')
    await until('the place is free', () => isFree(limiter), 2000)
  })

  it.each<[string, (answer: Response) => unknown]>([
    ['nobody reads', () => {}],
    ['somebody has taken a reader to and left', (answer) => answer.body?.getReader()],
    ['somebody has begun to read', (answer) => answer.body?.getReader().read()],
  ])('runs out where the answer has a body that %s', async (_how, take) => {
    const limiter = places(0.3)
    const handle = fetchLimit({ limiter, partition: () => 'one' })(() => {
      const chunks = ['a', 'b', 'c'].map((text) => new TextEncoder().encode(text))
      return new Response(
        new ReadableStream({
          pull(controller) {
            controller.enqueue(chunks.shift())
          },
        }),
      )
    })
    const answer = await handle(new Request(url))
    await take(answer)
    await until('the place is free', () => isFree(limiter), 5000)
    expect(answer.status).toBe(200)
  })

  it('is kept while somebody waits for more of the body', async () => {
    const limiter = places(0.3)
    let finish = () => {}
    const handle = fetchLimit({ limiter, partition: () => 'one' })(
      () =>
        new Response(
          new ReadableStream({
            start(controller) {
              finish = () => controller.close()
            },
          }),
        ),
    )
    const text = (await handle(new Request(url))).text()
    await staysTaken(limiter)
    finish()
    expect(await text).toBe('')
    await until('the place is free', () => isFree(limiter))
  })

  it('is kept while somebody reads the body slowly', async () => {
    const limiter = places(0.6)
    const handle = fetchLimit({ limiter, partition: () => 'one' })(
      () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              controller.enqueue(new Uint8Array(1))
            },
          }),
        ),
    )
    const reader = (await handle(new Request(url))).body?.getReader()
    const since = performance.now()
    while (performance.now() - since < 1500) {
      await reader?.read()
      expect(await isFree(limiter)).toBe(false)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await reader?.cancel()
    await until('the place is free', () => isFree(limiter))
  })
})

type Front = (limiter: Limiter, handler: () => unknown) => Promise<(signal?: AbortSignal) => Promise<number>>
const fronts: readonly (readonly [string, Front])[] = [
  ...majors.map(([name, express]): readonly [string, Front] => [
    name,
    async (limiter, handler) => {
      const app = express()
      app.use(
        expressLimit({ limiter, partition: () => 'one', onWarning: () => Promise.reject(new Error('no')) }),
      )
      app.get('/', async (_req, res) => {
        await handler()
        res.end()
      })
      const { port } = await serve(app)
      return async (signal) => (await fetch(`http://127.0.0.1:${port}/`, { signal: signal ?? null })).status
    },
  ]),
  [
    'a fetch handler',
    async (limiter, handler) => {
      const limit = fetchLimit({
        limiter,
        partition: () => 'one',
        onWarning: () => Promise.reject(new Error('no')),
      })
      const handle = limit(async () => {
        await handler()
        return new Response(null)
      })
      return async (signal) => (await handle(new Request(url, { signal: signal ?? null }))).status
    },
  ],
]

describe.each(fronts)('A place and a queue on %s', (_, open) => {
  const policies = [
    leakyBucket({ name: 'queue', capacity: 10, leakPerSecond: 1 }),
    concurrency({ name: 'running', limit: 2, leaseSeconds: 0.3 }),
  ] as const

  it('keep the place of a call while it is held', async () => {
    const limiter = createLimiter({ policies })
    let running = 0
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    onTestFinished(() => end())
    const ask = await open(limiter, () => {
      running += 1
      return ended
    })
    const [first, second] = [ask(), ask()]
    await until('one runs and one is held', async () => running === 1 && !(await isFree(limiter)))
    // The second is held for longer than its lease lasts.
    while (running === 1) {
      expect(await isFree(limiter)).toBe(false)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await ask()).toBe(429)
    end()
    expect(await Promise.all([first, second])).toEqual([200, 200])
  })

  it('give both back when the client goes while it is held', async () => {
    const limiter = createLimiter({
      policies: [
        leakyBucket({ name: 'queue', capacity: 3, leakPerSecond: 0.15 }),
        concurrency({ name: 'running', limit: 2, leaseSeconds: 60 }),
      ],
    })
    const left = async () => {
      const decision = await limiter.peek('one')
      return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
    }
    let running = 0
    const ask = await open(limiter, () => {
      running += 1
    })
    await ask()
    await until('the first has ended', async () => (await left())[1] === 2)
    const leaving = new AbortController()
    const held = ask(leaving.signal).catch(() => 'gone')
    await until('it is held', async () => (await left())[1] === 1)
    expect(await left()).toEqual([1, 1])
    leaving.abort()
    expect(await held).toBe('gone')
    await until('both are free', async () => String(await left()) === '2,2')
    expect(running).toBe(1)
  })
})

describe.each(fronts)('A limiter of the user on %s', (_, open) => {
  it.each<[string, () => unknown]>([
    ['rejects', () => Promise.reject(new Error('my fault'))],
    [
      'throws',
      () => {
        throw new Error('my fault')
      },
    ],
  ])('harms nobody where it %s to renew, release and refund', async (_how, fail) => {
    const inner = createLimiter({
      policies: [
        leakyBucket({ name: 'queue', capacity: 20, leakPerSecond: 0.2 }),
        concurrency({ name: 'running', limit: 20, leaseSeconds: 0.1 }),
      ],
    })
    const calls = { renew: 0, release: 0, refund: 0 }
    const failing = (name: keyof typeof calls) => () => {
      calls[name] += 1
      return fail()
    }
    const limiter = {
      ...inner,
      renew: failing('renew'),
      release: failing('release'),
      refund: failing('refund'),
    } as unknown as Limiter
    const ask = await open(limiter, () => until('it is renewed', () => calls.renew > 1))
    expect(await ask()).toBe(200)
    await until('it is released', () => calls.release === 1)
    const leaving = new AbortController()
    const held = ask(leaving.signal).catch(() => 'gone')
    await until('the second is held', () => calls.renew > 3)
    leaving.abort()
    expect(await held).toBe('gone')
    await until('it is refunded', () => calls.refund === 1)
  })

  it('harms nobody where it is closed while a call runs', async () => {
    const limiter = places(0.1)
    let running = false
    let closed = false
    const ask = await open(limiter, () => {
      running = true
      return until('it is closed', () => closed)
    })
    const answer = ask()
    await until('it runs', () => running)
    await limiter.close()
    closed = true
    expect(await answer).toBe(200)
  })
})

describe.each(majors)('An answer that cannot tell of its end on %s', (_, express) => {
  const bridged: RequestHandler = (req, _res, next) => {
    Object.defineProperty(req, 'socket', { value: { remoteAddress: '127.0.0.1' } })
    next()
  }

  it('is one like any other where only its socket cannot, as bridges to functions have it', async () => {
    const limiter = places(60)
    const app = express()
    app.use(bridged)
    app.use(expressLimit({ limiter, partition: () => 'one' }))
    app.get('/', (_req, res) => void res.send('done'))
    const { ask } = await serve(app)
    for (const _again of [1, 2]) {
      expect((await ask('/')).status).toBe(200)
      await until('the place is free', () => isFree(limiter))
    }
  })

  it('fails, and its place is given back', async () => {
    const limiter = places(0.3)
    const app = express()
    app.use(bridged, (_req, res, next) => {
      res.once = () => {
        throw new Error('my fault')
      }
      next()
    })
    app.use(expressLimit({ limiter, partition: () => 'one' }))
    app.use(((error, _req, res, _next) => void res.status(500).end(error.message)) as ErrorRequestHandler)
    const { ask } = await serve(app)
    expect((await ask('/')).body).toBe('my fault')
    await until('the place is free', () => isFree(limiter), 1000)
  })
})

it('a limiter may lack what keeps places: the call runs all the same', async () => {
  const { policies } = places(0.1)
  const decision: Decision = {
    outcome: 'admitted',
    allowed: true,
    limits: [],
    delaySeconds: 0,
    replayed: false,
    source: 'store',
    shadow: [],
  }
  const limiter = { policies, consume: async () => decision } as unknown as Limiter
  const warnings: string[] = []
  const limit = fetchLimit({ limiter, partition: () => 'one', onWarning: (text) => void warnings.push(text) })
  const handle = limit(async () => {
    await until('a renewal is tried', () => warnings.length > 0)
    return new Response(null)
  })
  expect((await handle(new Request(url))).status).toBe(200)
  await until('a release is tried', () => warnings.length > 1)
  expect(warnings.every((text) => /^rateLimit: (renew|release) of the limiter failed: /.test(text))).toBe(
    true,
  )
})
