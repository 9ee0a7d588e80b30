import { createLimiter, type Store, tokenBucket } from '@ratepact/server'
import type { Denied } from '@ratepact/server/express'
import { describe, expect, it } from 'vitest'
import { handStore } from '../express/helper.js'
import { fronts, type Options } from './fronts.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })
const PROBLEM = 'https://iana.org/assignments/http-problem-types#'
const REFUSAL = ['ratelimit', 'retry-after', 'retry-after-ms', 'cache-control']

function failingStore(run: Store['run']): Store {
  return { name: 'failing', timeoutMs: 20, run, close: async () => {} }
}
const failures: readonly (readonly [how: string, run: Store['run']])[] = [
  ['rejects', () => Promise.reject(new Error('gone'))],
  ['never answers', () => new Promise(() => {})],
  [
    'throws',
    () => {
      throw new Error('gone')
    },
  ],
  ['answers with nothing', async () => []],
]

describe.each(fronts)('What may not pass $name', ({ name, open: openAll }) => {
  const open = (options: Options) => openAll([{ policies: [one], store: handStore().store, ...options }])

  it('is answered to HEAD with the same head and no body', async () => {
    const { ask } = await open({})
    await ask('/')
    const [head, get] = [await ask('/', { method: 'HEAD' }), await ask('/')]
    expect([head.status, head.body]).toEqual([429, ''])
    for (const field of [...REFUSAL, 'content-type', 'ratelimit-policy'])
      expect([field, head.headers[field]]).toEqual([field, get.headers[field]])
  })

  it('takes nothing from the connection: the next request on it is answered', async () => {
    const { ask } = await open({})
    const headers = { 'content-type': 'application/json' }
    const post = { method: 'POST', headers, body: JSON.stringify(['x'.repeat(50_000)]) }
    const statuses: number[] = []
    for (let i = 0; i < 3; i += 1) statuses.push((await ask('/', post)).status)
    expect(statuses).toEqual([200, 429, 429])
  })

  it('gets a 429 without Retry-After when it costs more than there ever is', async () => {
    const { ask } = await open({ cost: 2 })
    const answer = await ask('/')
    expect([answer.status, answer.headers['cache-control']]).toEqual([429, 'no-store'])
    expect([answer.headers['retry-after'], answer.headers.ratelimit]).toEqual([undefined, undefined])
    expect(JSON.parse(answer.body)).toMatchObject({
      type: `${PROBLEM}quota-exceeded`,
      'violated-policies': ['one'],
    })
  })

  it('gets a 429 that says so when it is blocked, with a wait unless it is for ever', async () => {
    const limiter = createLimiter({ policies: [one], blocks: true })
    const { ask } = await openAll([{ limiter, partition: () => 'a' }])
    await limiter.block('a', 60)
    const timed = await ask('/')
    expect([timed.status, timed.headers['retry-after'], timed.headers.ratelimit]).toEqual([
      429,
      '60',
      undefined,
    ])
    expect(JSON.parse(timed.body)).toMatchObject({ type: `${PROBLEM}abnormal-usage-detected`, status: 429 })
    await limiter.block('a', 'forever')
    const forEver = await ask('/')
    expect([forEver.status, forEver.headers['retry-after']]).toEqual([429, undefined])
  })

  describe.each(failures)('while the store %s', (_, run) => {
    it('passes an open limiter, with no limits stated', async () => {
      const { ask } = await open({ store: failingStore(run) })
      const answer = await ask('/', { headers: { origin: 'https://page.example' } })
      expect([answer.status, answer.body]).toEqual([200, 'handled'])
      for (const field of [...REFUSAL, 'ratelimit-policy', 'access-control-expose-headers'])
        expect([field, answer.headers[field]]).toEqual([field, undefined])
    })

    it('is told by a closed limiter to come back, never that it called too often', async () => {
      const { ask } = await open({ store: failingStore(run), onStoreFailure: 'closed' })
      const answer = await ask('/')
      expect([answer.status, answer.headers['retry-after'], answer.headers['cache-control']]).toEqual([
        503,
        '5',
        'no-store',
      ])
      expect([answer.headers.ratelimit, answer.headers['ratelimit-policy']]).toEqual([undefined, undefined])
      expect(JSON.parse(answer.body)).toEqual({
        type: `${PROBLEM}temporary-reduced-capacity`,
        title: 'Temporary Reduced Capacity',
        status: 503,
        detail: 'Retry in 5 seconds.',
      })
    })
  })

  it.each([
    ['at once', (body: string) => ({ body })],
    [
      'later',
      async (body: string) => {
        await new Promise(setImmediate)
        return { body }
      },
    ],
  ])('may be answered by the user, %s: status and wait are set already', async (_when, reply) => {
    const seen: Denied[] = []
    const { ask, errors } = await open({
      onDenied: (call, decision) => {
        seen.push(decision)
        return reply(`slow down, ${call.header('x-name')}`)
      },
    })
    await ask('/')
    const answer = await ask('/', { headers: { 'x-name': 'Ann' } })
    expect([answer.status, answer.body]).toEqual([429, 'slow down, Ann'])
    expect(REFUSAL.map((field) => answer.headers[field])).toEqual([
      '"one";r=0;t=10;ratepact-t-ms=10000',
      '10',
      '10000',
      'no-store',
    ])
    expect(seen).toMatchObject([{ outcome: 'refused', violated: ['one'], retryAfterSeconds: 10 }])
    expect(errors).toEqual([])
  })

  it('may be answered by the user with another status', async () => {
    const { ask } = await open({ onDenied: () => ({ status: 418, headers: { 'x-own': 'yes' }, body: 'no' }) })
    await ask('/')
    const answer = await ask('/')
    expect([answer.status, answer.headers['x-own'], answer.headers['retry-after']]).toEqual([
      418,
      'yes',
      '10',
    ])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('my fault')
      },
    ],
    ['rejects', () => Promise.reject(new Error('my fault'))],
  ])(
    'becomes an ordinary error when onDenied %s, and nothing of the refusal stays',
    async (_how, onDenied) => {
      const { ask, errors } = await open({ onDenied })
      await ask('/')
      const answer = await ask('/')
      expect([answer.status, answer.headers['retry-after'], answer.headers['cache-control']]).toEqual([
        500,
        undefined,
        undefined,
      ])
      expect(errors).toMatchObject([{ message: 'my fault' }])
    },
  )

  it.each(['partition', 'cost', 'scope', 'skip', 'plan'])(
    "becomes an ordinary error when the user's %s throws or rejects, whatever it throws",
    async (option) => {
      const scoped = { name: 'one', capacity: 9, refillPerSecond: 1, perScope: true } as const
      const made =
        option === 'plan' ? { plans: { free: [tokenBucket(scoped)] } } : { policies: [tokenBucket(scoped)] }
      let fail = (): unknown => {
        throw new RangeError('my fault')
      }
      const { ask, errors } = await openAll([{ ...made, [option]: () => fail() }])
      expect((await ask('/')).status).toBe(500)
      fail = () => Promise.reject(new RangeError('my fault'))
      expect((await ask('/')).status).toBe(500)
      expect(errors).toMatchObject(Array(2).fill({ name: 'RangeError', message: 'my fault' }))
      for (const thrown of [undefined, 'route']) {
        fail = () => Promise.reject(thrown)
        expect((await ask('/')).status).toBe(500)
      }
      expect(errors).toHaveLength(4)
      if (name !== 'a fetch handler')
        expect(errors.slice(2).every((error) => error instanceof Error)).toBe(true)
    },
  )

  it('lets what skip is true for pass uncounted', async () => {
    const { ask } = await open({ skip: async (call: { method: string }) => call.method === 'GET' })
    const answers = [await ask('/'), await ask('/'), await ask('/', { method: 'POST' })]
    expect(answers.map(({ status, headers }) => [status, headers.ratelimit !== undefined])).toEqual([
      [200, false],
      [200, false],
      [200, true],
    ])
  })

  it('exposes its fields to pages of another origin, and only to them', async () => {
    const { ask } = await open({})
    const origin = { headers: { origin: 'https://page.example' } }
    for (const asked of [await ask('/', origin), await ask('/', origin)])
      expect(asked.headers['access-control-expose-headers']).toBe(
        'RateLimit, RateLimit-Policy, Retry-After, retry-after-ms',
      )
    expect((await ask('/')).headers['access-control-expose-headers']).toBeUndefined()
  })
})
