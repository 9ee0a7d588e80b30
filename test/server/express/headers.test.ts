import {
  formatRateLimit,
  formatRateLimitPolicy,
  parseRateLimit,
  parseRateLimitPolicy,
} from '@ratepact/contract'
import { createLimiter, tokenBucket } from '@ratepact/server'
import { type HeaderOptions, rateLimit } from '@ratepact/server/express'
import type { RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { type Asking, handStore, majors, serve } from './helper.js'

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 5 })
const POLICY = '"burst";q=10;w=2;ratepact-refill="bucket"'
const STATE = '"burst";r=9;t=2;ratepact-t-ms=1800'

const cases: readonly (readonly [
  what: string,
  handler: RequestHandler,
  status: number,
  states: boolean,
  asking?: Asking,
])[] = [
  ['200', (_req, res) => void res.send('ok'), 200, true],
  ['201', (_req, res) => void res.status(201).json({}), 201, true],
  ['204', (_req, res) => void res.status(204).end(), 204, true],
  ['301', (_req, res) => res.redirect(301, '/elsewhere'), 301, false],
  ['302', (_req, res) => res.redirect('/elsewhere'), 302, false],
  ['304', (_req, res) => void res.status(304).end(), 304, false],
  [
    '304 by its own comparison',
    (_req, res) => void res.set('ETag', '"a"').send('ok'),
    304,
    false,
    { headers: { 'if-none-match': '"a"' } },
  ],
  ['400', (_req, res) => void res.sendStatus(400), 400, true],
  ['404 of no handler', (_req, _res, next) => next(), 404, true],
  ['500', (_req, res) => void res.status(500).end(), 500, true],
  [
    'a handler that throws',
    () => {
      throw new Error('as meant')
    },
    500,
    true,
  ],
  ['a HEAD request', (_req, res) => void res.send('ok'), 200, true, { method: 'HEAD' }],
  [
    'an answer in pieces',
    (_req, res) => {
      res.write('a')
      setImmediate(() => res.end('b'))
    },
    200,
    true,
  ],
  [
    'server-sent events',
    (_req, res) => {
      res.set('Content-Type', 'text/event-stream').flushHeaders()
      res.end('data: 1\n\n')
    },
    200,
    true,
  ],
  ['writeHead alone', (_req, res) => void res.writeHead(202, 'Taken').end(), 202, true],
  ['writeHead with a redirect', (_req, res) => void res.writeHead(303, { Location: '/' }).end(), 303, false],
  [
    '1xx before it',
    (_req, res) => {
      res.writeProcessing()
      res.end('ok')
    },
    200,
    true,
  ],
]

describe.each(majors)('Answers on %s', (name, express) => {
  function start(handler: RequestHandler, headers?: false | HeaderOptions) {
    const app = express()
    app.disable('x-powered-by')
    app.set('env', 'test')
    app.use(
      rateLimit({
        policies: [burst],
        store: handStore().store,
        ...(headers === undefined ? {} : { headers }),
      }),
    )
    app.get('/', handler)
    app.use(((_error, _req, res, _next) => {
      res.status(500).end()
    }) satisfies import('express').ErrorRequestHandler)
    return serve(app)
  }

  it.each(cases.map((row) => ({ what: row[0], row })))(
    'state limits or keep silent by their status: $what',
    async ({ row: [, handler, status, states, asking] }) => {
      const { ask } = await start(handler)
      const answer = await ask('/', asking)
      expect(answer.status).toBe(status)
      expect(answer.headers['ratelimit-policy']).toBe(states ? POLICY : undefined)
      expect(answer.headers.ratelimit).toBe(states ? STATE : undefined)
      expect(answer.headers['retry-after']).toBeUndefined()
    },
  )

  it.each([
    ['headers off', false, undefined, undefined],
    ['without hints', { hints: false }, '"burst";q=10;w=2', '"burst";r=9;t=2'],
    ['draft 12', { draft: 12 }, POLICY, '"burst";a=9;w=2;c=1;ratepact-t-ms=1800'],
    ['both drafts', { draft: 'dual', hints: false }, '"burst";q=10;w=2', '"burst";r=9;t=2;a=9;w=2;c=1'],
  ] as const)('are written as asked: %s', async (_, headers, policy, state) => {
    const { ask } = await start((_req, res) => void res.end(), headers)
    const answer = await ask('/')
    expect(answer.headers['ratelimit-policy']).toBe(policy)
    expect(answer.headers.ratelimit).toBe(state)
  })

  it('of a refusal keep Retry-After alone when headers are off', async () => {
    const { ask } = await start((_req, res) => void res.end(), false)
    for (let i = 0; i < 10; i += 1) await ask('/')
    const answer = await ask('/', { headers: { origin: 'https://page.example' } })
    expect(answer.raw.map(([name]) => name)).toEqual([
      'Retry-After',
      'Cache-Control',
      'Content-Type',
      'Content-Length',
      'Access-Control-Expose-Headers',
    ])
    expect(answer.headers['access-control-expose-headers']).toBe('Retry-After')
  })

  it.each([11, 12, 'dual'] as const)(
    'are just what the contract writes and reads, in draft %s',
    async (draft) => {
      const limiter = createLimiter({
        store: handStore().store,
        policies: [
          tokenBucket({ name: 'burst', capacity: 20, refillPerSecond: 50 }),
          tokenBucket({ name: 'per-route', capacity: 7, refillPerSecond: 0.3, perScope: true }),
          tokenBucket({ name: 'bytes', capacity: 5000, refillPerSecond: 100, unit: 'content-bytes' }),
          tokenBucket({ name: 'slow', capacity: 1, refillPerSecond: 1 / 86_400 }),
        ],
      })
      const app = express()
      app.get(
        '/a',
        rateLimit({ limiter, cost: { bytes: 100, slow: 0 }, headers: { draft } }),
        (_req, res) => void res.end(),
      )
      const { ask } = await serve(app)
      const { headers } = await ask('/a')
      const policies = parseRateLimitPolicy(headers['ratelimit-policy'] as string)
      const limits = parseRateLimit(headers.ratelimit as string)
      if (policies.status !== 'ok' || limits.status !== 'ok') throw new Error('Expected both to be read')
      expect(policies.dropped).toEqual([])
      expect(formatRateLimitPolicy(policies.items)).toBe(headers['ratelimit-policy'])
      const withCost = limits.items.map((item, i) => ({ ...item, cost: [1, 1, 100, 0][i] as number }))
      expect(formatRateLimit(withCost, { draft })).toBe(headers.ratelimit)
      expect(policies.items.map(({ ratePerSecond }) => ratePerSecond)).toEqual([
        50,
        0.3,
        undefined,
        undefined,
      ])
      expect(policies.items.map(({ partitionKey }) => partitionKey?.length)).toEqual([
        undefined,
        8,
        undefined,
        undefined,
      ])
      expect(limits.items[1]?.partitionKey).toEqual(policies.items[1]?.partitionKey)
    },
  )

  it.each([
    ['setHeader', ((_req, res) => void res.set('RateLimit', '"up";r=1').end()) as RequestHandler],
    [
      'writeHead',
      ((_req, res) => void res.writeHead(200, { RateLimit: '"up";r=1' }).end()) as RequestHandler,
    ],
    [
      'writeHead with a reason',
      ((_req, res) => void res.writeHead(200, 'OK', { ratelimit: '"up";r=1' }).end()) as RequestHandler,
    ],
    [
      'writeHead with a flat list',
      ((_req, res) => void res.writeHead(200, ['RateLimit', '"up";r=1']).end()) as RequestHandler,
    ],
    [
      'writeHead with a list of pairs',
      ((_req, res) => void res.writeHead(200, [['RateLimit', '"up";r=1']] as never).end()) as RequestHandler,
    ],
    ['two lines', ((_req, res) => void res.setHeader('RateLimit', ['"up";r=1']).end()) as RequestHandler],
  ])("leave a handler's own members, given by %s, and add theirs", async (_, handler) => {
    const { ask } = await start(handler)
    const { headers } = await ask('/')
    expect(headers.ratelimit).toBe(`"up";r=1, ${STATE}`)
    expect(headers['ratelimit-policy']).toBe(POLICY)
  })

  it('keep each of several headers of one name given to writeHead', async () => {
    const { ask } = await start(
      (_req, res) => void res.writeHead(200, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2']).end(),
    )
    expect((await ask('/')).headers['set-cookie']).toEqual(['a=1', 'b=2'])
  })

  it('of several limiters have one field with the members of all, in order, and one Retry-After', async () => {
    const { store } = handStore()
    const app = express()
    app.use(rateLimit({ policies: [burst], store }))
    app.get(
      '/',
      rateLimit({ policies: [tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 1 })], store }),
      (_req, res) => void res.end(),
    )
    const { ask } = await serve(app)
    const fields = (lines: Awaited<ReturnType<typeof ask>>) =>
      lines.raw.filter(([field]) => /^ratelimit|^retry-after$/i.test(field))
    expect(fields(await ask('/'))).toEqual([
      ['RateLimit-Policy', `${POLICY}, "one";q=1;w=1;ratepact-refill="bucket"`],
      ['RateLimit', `${STATE}, "one";r=0;t=1;ratepact-t-ms=1000`],
    ])
    expect(fields(await ask('/'))).toEqual([
      ['Retry-After', '1'],
      ['RateLimit-Policy', `${POLICY}, "one";q=1;w=1;ratepact-refill="bucket"`],
      ['RateLimit', '"burst";r=8;t=2;ratepact-t-ms=1600, "one";r=0;t=1;ratepact-t-ms=1000'],
    ])
  })

  describe('to a page of another origin', () => {
    const origin = { headers: { origin: 'https://page.example' } }
    const OURS = 'RateLimit, RateLimit-Policy, Retry-After, retry-after-ms'

    it.each([
      ['nothing yet', undefined, OURS],
      ['a list', 'X-Total, ratelimit', 'X-Total, ratelimit, RateLimit-Policy, Retry-After, retry-after-ms'],
      ['everything', '*', `*, ${OURS}`],
    ])('expose their fields besides %s', async (_, before, after) => {
      const { ask } = await start((_req, res) => {
        if (before !== undefined) res.set('Access-Control-Expose-Headers', before)
        res.end()
      })
      expect((await ask('/', origin)).headers['access-control-expose-headers']).toBe(after)
      expect((await ask('/')).headers['access-control-expose-headers']).toBe(before)
    })

    it('expose the fields of a refusal', async () => {
      const { ask } = await start((_req, res) => void res.end())
      for (let i = 0; i < 10; i += 1) await ask('/')
      const answer = await ask('/', origin)
      expect(answer.status).toBe(429)
      expect(answer.headers['access-control-expose-headers']).toBe(OURS)
    })

    it('expose nothing on a redirect', async () => {
      const { ask } = await start((_req, res) => res.redirect('/elsewhere'))
      expect((await ask('/', origin)).headers['access-control-expose-headers']).toBeUndefined()
    })
  })

  it(`know nothing that ${name} does not send`, async () => {
    const app = express()
    app.use(rateLimit({ policies: [burst], skip: () => true }))
    app.get('/', (_req, res) => void res.end())
    const { ask } = await serve(app)
    const answer = await ask('/', { headers: { origin: 'https://page.example' } })
    expect(answer.raw).toEqual([['Content-Length', '0']])
  })
})
