import { concurrency, fixedWindow, type Policy, tokenBucket } from '@ratepact/server'
import { type HeaderOptions, rateLimit } from '@ratepact/server/express'
import type { RequestHandler } from 'express'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { handStore, majors, serve } from './helper.js'

/** Noon, when the calendar and the hand clock both stand at a whole second. */
const NOON = 1_796_040_000
const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 5 })
const daily = fixedWindow({ name: 'daily', quota: 1000, windowSeconds: 86_400, anchor: 'first-request' })
const bytes = tokenBucket({ name: 'bytes', capacity: 50, refillPerSecond: 1, unit: 'content-bytes' })
const places = concurrency({ name: 'places', limit: 2, leaseSeconds: 60 })
const ok: RequestHandler = (_req, res) => void res.end()

const POLICY = '"burst";q=10;w=2;ratepact-refill="bucket", "daily";q=1000;w=86400;ratepact-refill="window"'
const STATE = '"burst";r=9;t=2;ratepact-t-ms=1800, "daily";r=999;t=86400;ratepact-t-ms=86400000'
const named = [
  ['RateLimit-Policy', POLICY],
  ['RateLimit', STATE],
]

const dialects: readonly (readonly [
  legacy: HeaderOptions['legacy'],
  fields: readonly (readonly string[])[],
])[] = [
  [false, named],
  [
    true,
    [
      ...named,
      ['X-RateLimit-Limit', '10'],
      ['X-RateLimit-Remaining', '9'],
      ['X-RateLimit-Reset', String(NOON + 2)],
    ],
  ],
  [
    'x-ratelimit',
    [
      ...named,
      ['X-RateLimit-Limit', '10'],
      ['X-RateLimit-Remaining', '9'],
      ['X-RateLimit-Reset', String(NOON + 2)],
    ],
  ],
  [
    'draft-7',
    [
      ['RateLimit-Policy', '10;w=2, 1000;w=86400'],
      ['RateLimit', 'limit=10, remaining=9, reset=2'],
    ],
  ],
  ['draft-6', [...named, ['RateLimit-Limit', '10'], ['RateLimit-Remaining', '9'], ['RateLimit-Reset', '2']]],
  [
    'draft-3',
    [
      ...named,
      ['RateLimit-Limit', '10, 10;w=2, 1000;w=86400'],
      ['RateLimit-Remaining', '9'],
      ['RateLimit-Reset', '2'],
    ],
  ],
]

/** All that `legacy: true` and the standard may state. */
const OURS = /^(?:x-)?ratelimit/i

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOON * 1000 })
})
afterEach(() => {
  vi.useRealTimers()
})

describe.each(majors)('Older dialects on %s', (_, express) => {
  interface Setup {
    readonly policies?: readonly Policy[]
    readonly headers?: HeaderOptions
    readonly cost?: number | Record<string, number>
  }

  function start(setups: readonly Setup[], handler: RequestHandler = ok) {
    const { store, pass } = handStore()
    const app = express()
    app.disable('x-powered-by')
    for (const { policies = [burst, daily], headers = { legacy: true }, cost } of setups)
      app.use(rateLimit({ policies, store, headers, ...(cost !== undefined && { cost }) }))
    app.get('/', handler)
    return serve(app).then((served) => ({
      ...served,
      pass,
      async fields(asking?: Parameters<typeof served.ask>[1]) {
        return (await served.ask('/', asking)).raw.filter(([name]) => OURS.test(name))
      },
    }))
  }

  it.each(dialects)('are written byte by byte: legacy %j', async (legacy, expected) => {
    const { fields } = await start([{ headers: { legacy: legacy as boolean } }])
    expect(await fields()).toEqual(expected)
  })

  it('are written byte by byte on a refusal', async () => {
    const { ask } = await start([{ policies: [burst], headers: { legacy: true, hints: false } }])
    for (let call = 0; call < 10; call += 1) await ask('/')
    const { status, raw } = await ask('/')
    expect(status).toBe(429)
    expect(raw.filter(([name]) => name !== 'Content-Length')).toEqual([
      ['Retry-After', '1'],
      ['Cache-Control', 'no-store'],
      ['Content-Type', 'application/problem+json'],
      ['RateLimit-Policy', '"burst";q=10;w=2'],
      ['RateLimit', '"burst";r=0;t=1'],
      ['X-RateLimit-Limit', '10'],
      ['X-RateLimit-Remaining', '0'],
      ['X-RateLimit-Reset', String(NOON + 1)],
    ])
  })

  it('stand beside the names of draft 12 as well', async () => {
    const { fields } = await start([{ headers: { legacy: 'draft-6', draft: 12, hints: false } }])
    expect((await fields()).slice(1, 3)).toEqual([
      ['RateLimit', '"burst";a=9;w=2;c=1, "daily";a=999;w=86400;c=1'],
      ['RateLimit-Limit', '10'],
    ])
  })

  it.each<readonly [status: string, handler: RequestHandler, states: boolean]>([
    ['200', ok, true],
    ['204', (_req, res) => void res.status(204).end(), true],
    ['302', (_req, res) => res.redirect('/elsewhere'), false],
    ['304', (_req, res) => void res.status(304).end(), false],
    ['404', (_req, res) => void res.sendStatus(404), true],
    ['500', (_req, res) => void res.sendStatus(500), true],
    ['writeHead with a redirect', (_req, res) => void res.writeHead(307, { Location: '/' }).end(), false],
    [
      '1xx before it',
      (_req, res) => {
        res.writeProcessing()
        res.end()
      },
      true,
    ],
  ])('keep to the same statuses as the standard: %s', async (_status, handler, states) => {
    for (const legacy of [true, 'draft-7', 'draft-6', 'draft-3'] as const) {
      const { fields } = await start([{ headers: { legacy } }], handler)
      expect((await fields()).length > 0).toBe(states)
    }
  })

  it.each([
    [true, 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, '],
    ['draft-7', ''],
    ['draft-6', 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, '],
    ['draft-3', 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, '],
  ] as const)('may be read by pages of other origins: legacy %j', async (legacy, names) => {
    const { ask } = await start([{ headers: { legacy } }])
    const { headers } = await ask('/', { headers: { origin: 'https://page.example' } })
    expect(headers['access-control-expose-headers']).toBe(
      `RateLimit, RateLimit-Policy, ${names}Retry-After, retry-after-ms`,
    )
  })

  describe('tell of the policy', () => {
    const [limit, remaining, reset] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

    it('with the fewest units left, and of those the one for longest', async () => {
      const first = fixedWindow({ name: 'first', quota: 20, windowSeconds: 10, anchor: 'first-request' })
      const second = fixedWindow({ name: 'second', quota: 20, windowSeconds: 60, anchor: 'first-request' })
      const { ask } = await start([{ policies: [daily, first, second] }])
      expect((await ask('/')).headers).toMatchObject({
        [limit]: '20',
        [remaining]: '19',
        [reset]: String(NOON + 60),
      })
    })

    it('that refused, though another has less left', async () => {
      const dear = tokenBucket({ name: 'dear', capacity: 9, refillPerSecond: 1 })
      const cheap = fixedWindow({ name: 'cheap', quota: 3, windowSeconds: 3600, anchor: 'first-request' })
      const { ask } = await start([{ policies: [cheap, dear], cost: { dear: 5 } }])
      await ask('/')
      const { status, headers } = await ask('/')
      expect(status).toBe(429)
      expect(headers).toMatchObject({ [limit]: '9', [remaining]: '4', [reset]: String(NOON + 1) })
    })

    it('that counts requests in a time, and say nothing where there is none', async () => {
      const some = await start([{ policies: [bytes, places, burst], cost: { bytes: 49 } }])
      expect((await some.ask('/')).headers).toMatchObject({ [limit]: '10', [remaining]: '9' })
      for (const legacy of [true, 'draft-6', 'draft-3'] as const) {
        const none = await start([{ policies: [bytes, places], headers: { legacy } }])
        expect((await none.fields()).map(([name]) => name)).toEqual(['RateLimit-Policy', 'RateLimit'])
      }
      const none = await start([{ policies: [bytes, places], headers: { legacy: 'draft-7' } }])
      expect(await none.fields()).toEqual([])
    })

    it('and state no two policies of one quota, which drafts 06 and 07 forbid', async () => {
      const other = fixedWindow({ name: 'other', quota: 10, windowSeconds: 60, anchor: 'first-request' })
      const { fields } = await start([{ policies: [burst, other], headers: { legacy: 'draft-7' } }])
      expect(await fields()).toEqual([
        ['RateLimit-Policy', '10;w=60'],
        ['RateLimit', 'limit=10, remaining=9, reset=60'],
      ])
    })
  })

  describe('of two limiters', () => {
    const tight = tokenBucket({ name: 'tight', capacity: 5, refillPerSecond: 1 })

    it.each([
      ['the first', [tight], [burst]],
      ['the second', [burst], [tight]],
    ])('tell of the one nearer to exhaustion: %s', async (_which, one, two) => {
      const about: Record<string, readonly (readonly string[])[]> = {
        'x-ratelimit': [
          ['X-RateLimit-Limit', '5'],
          ['X-RateLimit-Remaining', '4'],
          ['X-RateLimit-Reset', String(NOON + 4)],
        ],
        'draft-3': [
          ['RateLimit-Limit', '5, 5;w=5'],
          ['RateLimit-Remaining', '4'],
          ['RateLimit-Reset', '4'],
        ],
        'draft-6': [
          ['RateLimit-Limit', '5'],
          ['RateLimit-Remaining', '4'],
          ['RateLimit-Reset', '4'],
        ],
        'draft-7': [
          ['RateLimit-Policy', '5;w=5'],
          ['RateLimit', 'limit=5, remaining=4, reset=4'],
        ],
      }
      for (const [legacy, expected] of Object.entries(about)) {
        const headers = { legacy } as HeaderOptions
        const { fields } = await start([
          { policies: one, headers },
          { policies: two, headers },
        ])
        const lines = await fields()
        expect(lines.slice(-expected.length)).toEqual(expected)
        expect(lines).toHaveLength(legacy === 'draft-7' ? 2 : 5)
      }
    })

    it('tell of the one for longer where both leave as much', async () => {
      const long = fixedWindow({ name: 'long', quota: 5, windowSeconds: 60, anchor: 'first-request' })
      for (const order of [
        [tight, long],
        [long, tight],
      ]) {
        const { ask } = await start(order.map((policy) => ({ policies: [policy] })))
        expect((await ask('/')).headers['x-ratelimit-reset']).toBe(String(NOON + 60))
      }
    })

    it.each([
      ['first', [{ legacy: 'draft-7' }, {}], 'second'],
      ['second', [{}, { legacy: 'draft-7' }], 'first'],
    ] as const)(
      'never mix the grammar of draft 07 into a list of names: %s of them asks for it',
      async (_which, [first, second], stated) => {
        const policies = {
          first: tokenBucket({ name: 'first', capacity: 10, refillPerSecond: 5 }),
          second: tokenBucket({ name: 'second', capacity: 5, refillPerSecond: 1 }),
        }
        const { fields } = await start([
          { policies: [policies.first], headers: { ...first, hints: false } },
          { policies: [policies.second], headers: { ...second, hints: false } },
        ])
        expect(await fields()).toEqual([
          ['RateLimit-Policy', stated === 'first' ? '"first";q=10;w=2' : '"second";q=5;w=5'],
          ['RateLimit', stated === 'first' ? '"first";r=9;t=2' : '"second";r=4;t=4'],
        ])
      },
    )
  })

  describe("beside a handler's own fields", () => {
    it.each([
      [
        'a nearer limit',
        { Limit: '60', Remaining: '3', Reset: String(NOON + 30) },
        ['60', '3', String(NOON + 30)],
      ],
      [
        'a farther limit',
        { Limit: '60', Remaining: '30', Reset: String(NOON + 30) },
        ['10', '9', String(NOON + 2)],
      ],
      [
        'what cannot be read',
        { Limit: 'many', Remaining: '-1', Reset: 'soon' },
        ['10', '9', String(NOON + 2)],
      ],
      ['a part', { Limit: '60' }, ['10', '9', String(NOON + 2)]],
    ])('keep one limit whole: %s', async (_what, own, expected) => {
      const { ask } = await start([{ policies: [burst] }], (_req, res) => {
        for (const [name, value] of Object.entries(own)) res.set(`X-RateLimit-${name}`, value)
        res.end()
      })
      const { headers } = await ask('/')
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
      expect(names.map((name) => headers[name])).toEqual(expected)
    })

    it('put the standard in the place of a field without names', async () => {
      const { fields } = await start([{ policies: [burst], headers: { hints: false } }], (_req, res) => {
        res.writeHead(200, { RateLimit: 'limit=5, remaining=1, reset=9', 'ratelimit-policy': '5;w=9' }).end()
      })
      expect((await fields()).map(([, value]) => value)).toEqual(['"burst";r=9;t=2', '"burst";q=10;w=2'])
    })
  })

  describe('as a timestamp', () => {
    it('tell the same second all through a window, and it is the second in which the window ends', async () => {
      const hourly = fixedWindow({ name: 'hourly', quota: 100, windowSeconds: 3600 })
      const { ask, pass } = await start([{ policies: [hourly] }])
      // The store's clock begins 1000 s after 1970, so 2600 s are left of its hour. It counts parts of a millisecond.
      for (const [storeMs, dateMs] of [
        [0.6, 1],
        [333.2, 333],
        [0, 0],
        [666, 666],
        [998.1, 998],
      ] as const) {
        const { headers } = await ask('/')
        expect(headers['x-ratelimit-reset']).toBe(String(NOON + 2600))
        pass(storeMs / 1000)
        vi.setSystemTime(Date.now() + dateMs)
      }
    })

    it('count from when the limiter was asked, however long the handler takes', async () => {
      const { ask } = await start([{ policies: [burst] }], (_req, res) => {
        vi.setSystemTime((NOON + 30) * 1000)
        res.end()
      })
      expect((await ask('/')).headers['x-ratelimit-reset']).toBe(String(NOON + 2))
    })
  })
})
