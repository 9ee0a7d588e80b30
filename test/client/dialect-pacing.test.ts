import { createFetch } from '@ratepact/client'
import { fixedWindow, memoryStore, tokenBucket } from '@ratepact/server'
import { type HeaderOptions, rateLimit } from '@ratepact/server/fetch'
import { describe, expect, it } from 'vitest'
import { handClock } from './clock.js'
import { serve } from './http.js'
import { type Spoken, spoken, WindowServer } from './window-server.js'

const noonMs = 1_796_040_000_000
const url = 'http://api.test/'

/** As many calls at once, each answered in the end. */
async function callAll(api: ReturnType<typeof createFetch>, to: string, calls: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: calls }, () => api(to)))
  return answers.map(({ status }) => status)
}

describe.each(Object.entries(spoken))('A server with a fixed window that speaks %s', (_name, tongue) => {
  it.each([
    { quota: 10, windowMs: 2000, delayMs: 0 },
    { quota: 10, windowMs: 2000, delayMs: 40 },
    { quota: 100, windowMs: 5300, delayMs: 15 },
    { quota: 5, windowMs: 60_000, delayMs: 120 },
  ])(
    'of $quota in $windowMs ms is never asked before the time it told, and refuses next to nothing',
    async ({ quota, windowMs, delayMs }) => {
      const clock = handClock()
      const server = new WindowServer(quota, windowMs)
      const early: number[] = []
      let toldMs = 0
      async function fetch(): Promise<Response> {
        const atMs = clock.now()
        if (atMs < toldMs) early.push(atMs)
        const { status, state } = server.count(atMs, noonMs + 357 + atMs)
        await new Promise<void>((resolve) => clock.setTimeout(resolve, delayMs))
        // What it told rounds this up.
        if (state.remaining === 0) toldMs = Math.max(toldMs, atMs + state.leftMs)
        return new Response(null, { status, headers: tongue.headers(state) })
      }
      const api = createFetch({ fetch, clock, maxWaitSeconds: 3600, ...optionsOf(tongue) })
      const calls = 3 * quota + 1
      const statuses = await clock.runUntil(callAll(api, url, calls))
      expect(statuses).toEqual(Array(calls).fill(200))
      expect(early).toEqual([])
      expect(server.refused).toBeLessThanOrEqual(2)
      // Nor is it left alone for no reason: a second for the rounding of each window, and one for calls that ask.
      expect(clock.now()).toBeLessThan(3 * (windowMs + 2000) + 20 * delayMs)
    },
  )
})

describe.each(['draft 06', 'draft 07', 'X-RateLimit in seconds since 1970'])(
  'Over real HTTP, a server that speaks %s',
  (name) => {
    it('answers all calls, three windows of them, and refuses next to none', async () => {
      const tongue = spoken[name] as Spoken
      const window = new WindowServer(6, 1000)
      const server = await serve((seen, response) => {
        const { status, state } = window.count(seen.atMs, Date.now())
        response.writeHead(status, tongue.headers(state)).end('ok')
      })
      const api = createFetch(optionsOf(tongue))
      expect(await callAll(api, server.url, 15)).toEqual(Array(15).fill(200))
      expect(window.admitted).toBe(15)
      expect(window.refused).toBeLessThanOrEqual(3)
    })
  },
)

describe('What our own server states in an older dialect', () => {
  const window = fixedWindow({ name: 'window', quota: 10, windowSeconds: 4 })
  const bucket = tokenBucket({ name: 'bucket', capacity: 10, refillPerSecond: 4 })

  const legacies: readonly (readonly [legacy: HeaderOptions['legacy'], policies: boolean])[] = [
    ['draft-7', true],
    ['draft-3', true],
    ['draft-6', false],
    ['x-ratelimit', false],
  ]

  describe.each(legacies)('%s', (legacy, policies) => {
    function start(policy: typeof window | typeof bucket) {
      const clock = handClock()
      const count = { refused: 0 }
      const handle = rateLimit({
        policies: [policy],
        store: memoryStore({ clock }),
        partition: () => 'one',
        headers: { legacy: legacy as LegacyName, hints: false },
      })(() => new Response(null))
      const fetch = async (): Promise<Response> => {
        const response = await handle(new Request(url))
        if (response.status === 429) count.refused += 1
        // To a client that knows no names it is as if these were not there.
        if (legacy !== 'draft-7')
          for (const name of ['ratelimit', 'ratelimit-policy']) response.headers.delete(name)
        await new Promise<void>((resolve) => clock.setTimeout(resolve, 20))
        return response
      }
      const options =
        legacy === 'x-ratelimit' ? { dialect: { xRateLimitReset: 'epoch-seconds' as const } } : {}
      return { clock, count, api: createFetch({ fetch, clock, ...options }) }
    }

    it('is read back as the limit and policy that it was', async () => {
      const { clock, api } = start(window)
      await clock.runUntil(api(url))
      expect(api.limits(url)).toEqual([
        {
          policy: 'legacy',
          unit: 'requests',
          available: 9,
          waitSeconds: 0,
          effectiveWindowSeconds: expect.any(Number),
          quota: 10,
          ...(policies ? { windowSeconds: 4 } : {}),
        },
      ])
    })

    it.each([
      ['a window', window],
      ['a bucket', bucket],
    ])('leads a client past all refusals but a few: %s', async (_what, policy) => {
      const { clock, count, api } = start(policy)
      expect(await clock.runUntil(callAll(api, url, 35))).toEqual(Array(35).fill(200))
      expect(count.refused).toBeLessThanOrEqual(3)
      // A bucket needs 6.25 s for 25 calls; told of in whole seconds alone, one call comes in each.
      expect(clock.now()).toBeLessThan(30_000)
    })
  })
})

type LegacyName = Exclude<HeaderOptions['legacy'], boolean | undefined>

function optionsOf({ dialect }: Spoken): { dialect?: NonNullable<Spoken['dialect']> } {
  return dialect === undefined ? {} : { dialect }
}
