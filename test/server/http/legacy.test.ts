import { tokenBucket } from '@ratepact/server'
import { type HeaderOptions, rateLimit } from '@ratepact/server/fetch'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { handStore } from '../express/helper.js'

const NOON = 1_796_040_000
const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 5 })
const tight = tokenBucket({ name: 'tight', capacity: 5, refillPerSecond: 1 })

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOON * 1000 })
})
afterEach(() => {
  vi.useRealTimers()
})

function limit(policy: typeof burst | typeof tight, headers: HeaderOptions) {
  return rateLimit({
    policies: [policy],
    store: handStore().store,
    partition: () => 'one',
    headers: { hints: false, ...headers },
  })
}

const request = new Request('http://api.test/')
const named = { ratelimit: '"burst";r=9;t=2', 'ratelimit-policy': '"burst";q=10;w=2' }
const three = { 'ratelimit-limit': '10', 'ratelimit-remaining': '9', 'ratelimit-reset': '2' }
const cases: readonly (readonly [HeaderOptions['legacy'], Record<string, string>])[] = [
  [false, named],
  [
    true,
    {
      ...named,
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '9',
      'x-ratelimit-reset': String(NOON + 2),
    },
  ],
  ['draft-7', { ratelimit: 'limit=10, remaining=9, reset=2', 'ratelimit-policy': '10;w=2' }],
  ['draft-6', { ...named, ...three }],
  ['draft-3', { ...named, ...three, 'ratelimit-limit': '10, 10;w=2' }],
]

describe('Older dialects of a fetch handler', () => {
  it.each(cases)('are written byte by byte: legacy %j', async (legacy, expected) => {
    const handle = limit(burst, { legacy: legacy as boolean })(() => new Response(null))
    expect(Object.fromEntries((await handle(request)).headers)).toEqual(expected)
  })

  it('count a timestamp from when the limiter was asked, however long the handler takes', async () => {
    const handle = limit(burst, { legacy: true })(() => {
      vi.setSystemTime((NOON + 30) * 1000)
      return new Response(null)
    })
    expect((await handle(request)).headers.get('x-ratelimit-reset')).toBe(String(NOON + 2))
  })

  it.each([301, 304])('are not on an answer of %i', async (status) => {
    for (const [legacy] of cases) {
      const handle = limit(burst, { legacy: legacy as boolean })(() => new Response(null, { status }))
      expect(Object.fromEntries((await handle(request)).headers)).toEqual({})
    }
  })

  it('of two limiters, one around the other, tell of the one nearer to exhaustion', async () => {
    for (const [inner, outer] of [
      [burst, tight],
      [tight, burst],
    ] as const) {
      for (const [legacy, reset] of [
        ['draft-6', '4'],
        ['x-ratelimit', String(NOON + 4)],
      ] as const) {
        const once = limit(inner, { legacy })(() => new Response(null))
        const { headers } = await limit(outer, { legacy })(once)(request)
        const prefix = legacy === 'draft-6' ? '' : 'x-'
        const value = (name: string) => headers.get(`${prefix}ratelimit-${name}`)
        expect([value('limit'), value('remaining'), value('reset')]).toEqual(['5', '4', reset])
        expect(headers.get('ratelimit')?.split(', ')).toHaveLength(2)
      }
    }
  })

  it('keep to digits whatever a store of your own says', async () => {
    const odd = [Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 1e15]
    for (const available of [...odd, 3]) {
      for (const seconds of [...odd, 999_999_999_999_999]) {
        const limits = [
          {
            policy: 'burst',
            quota: 10,
            unit: 'requests',
            cost: 1,
            available,
            effectiveWindowSeconds: seconds,
            effectiveWindowMs: seconds * 1000,
            allowed: true,
          },
        ]
        const limiter = {
          policies: [burst],
          consume: async () => ({
            outcome: 'admitted',
            allowed: true,
            source: 'store',
            delaySeconds: 0,
            limits,
          }),
        }
        for (const legacy of [true, 'draft-7', 'draft-6'] as const) {
          const handle = rateLimit({
            limiter: limiter as never,
            partition: () => 'one',
            headers: { legacy },
          })(() => new Response(null))
          const { headers } = await handle(request)
          for (const name of ['x-ratelimit-reset', 'x-ratelimit-remaining', 'ratelimit-reset'])
            expect(headers.get(name) ?? '0').toMatch(/^\d{1,15}$/)
          if (legacy === 'draft-7')
            expect(headers.get('ratelimit') ?? 'limit=10, remaining=3, reset=999999999').toBe(
              'limit=10, remaining=3, reset=999999999',
            )
        }
      }
    }
  })
})
