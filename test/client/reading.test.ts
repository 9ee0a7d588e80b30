import { createFetch } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, gaps, respond } from './fake.js'
import { inTurn, serve } from './http.js'

const url = 'http://api.test/'
const empty = { ratelimit: '"a";r=0;t=30', 'ratelimit-policy': '"a";q=10;w=60' }

describe('limits', () => {
  it('are known after an answer, in seconds and units', async () => {
    const { clock, fetch } = fakeServer(() =>
      respond(200, { ratelimit: '"a";r=7;t=30', 'ratelimit-policy': '"a";q=10;w=60' }),
    )
    const api = createFetch({ fetch, clock })
    expect(api.limits(url)).toEqual([])
    await api(url)
    expect(api.limits(url)).toEqual([
      {
        policy: 'a',
        unit: 'requests',
        quota: 10,
        windowSeconds: 60,
        available: 7,
        waitSeconds: 0,
        effectiveWindowSeconds: 30,
      },
    ])
    await clock.advance(29_000)
    expect(api.limits(url)).toMatchObject([{ available: 7, effectiveWindowSeconds: 1 }])
    await clock.advance(1000)
    expect(api.limits(url)[0]).not.toHaveProperty('effectiveWindowSeconds')
  })

  it('tell the rate where a server states another than quota over window', async () => {
    const policy = '"a";q=20;w=1;ratepact-refill="bucket";ratepact-rate=50.0'
    const { clock, fetch } = fakeServer(() =>
      respond(200, { ratelimit: '"a";r=19;t=1', 'ratelimit-policy': policy }),
    )
    const api = createFetch({ fetch, clock })
    await api(url)
    expect(api.limits(url)).toMatchObject([{ quota: 20, windowSeconds: 1, ratePerSecond: 50 }])
  })

  it('are those of the partition and the route that is asked about', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, { ratelimit: '"a";r=7;t=30' }))
    const api = createFetch({ fetch, clock })
    await api(new Request(url, { headers: { 'x-api-key': 'one' } }))
    expect(api.limits(url)).toEqual([])
    expect(api.limits('http://other.test/', { headers: { 'x-api-key': 'one' } })).toEqual([])
    expect(api.limits(url, { headers: { 'X-API-Key': 'one' } })).toHaveLength(1)
    expect(api.limits('not a url')).toEqual([])
  })

  it('known beforehand need no first answer', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 100)
    const policies = [{ policy: 'a', quota: 5, unit: 'requests', windowSeconds: 1 }]
    const api = createFetch({ fetch, clock, policies })
    const calls = Promise.all([1, 2, 3].map(() => api(url)))
    await clock.advance(1)
    expect(sent).toHaveLength(3)
    await clock.runUntil(calls)
  })

  it('that are exhausted hold the next call before it is refused', async () => {
    const { clock, sent, fetch } = fakeServer((number) => (number === 1 ? respond(200, empty) : respond(200)))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 100 })
    await api(url)
    await clock.runUntil(api(url))
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(6000)
  })
})

describe('fields that tell of something else are not used', () => {
  const strangers: Record<string, { status: number; headers: Record<string, string> }> = {
    'an answer out of a cache': { status: 200, headers: { ...empty, age: '60' } },
    'a redirect that is not followed': { status: 302, headers: { ...empty, location: '/there' } },
    'a 304': { status: 304, headers: empty },
  }
  for (const [what, { status, headers }] of Object.entries(strangers)) {
    it(`${what} blocks nothing`, async () => {
      const { clock, sent, fetch } = fakeServer(() => respond(status, headers))
      const api = createFetch({ fetch, clock })
      await api(url, { redirect: 'manual' })
      await api(url, { redirect: 'manual' })
      expect(sent).toHaveLength(2)
      expect(clock.now()).toBe(0)
      expect(api.limits(url)).toEqual([])
    })
  }

  it('an Age of 0, or one that is no number, is no cache', async () => {
    for (const age of ['0', 'old', '-5']) {
      const { clock, fetch } = fakeServer(() => respond(200, { ...empty, age }))
      const api = createFetch({ fetch, clock })
      await api(url)
      expect([age, api.limits(url).length]).toEqual([age, 1])
    }
  })

  it('a refusal out of a cache teaches nothing either, and is waited out as long as its Retry-After says', async () => {
    for (const status of [429, 503]) {
      const { clock, sent, fetch } = fakeServer((number) =>
        number === 1 ? respond(status, { ...empty, age: '3', 'retry-after': '5' }) : respond(200),
      )
      const api = createFetch({ fetch, clock, retry: { statuses: [429, 503] } })
      expect((await clock.runUntil(api(url, { method: 'POST' }))).status).toBe(200)
      expect([status, gaps(sent)]).toEqual([status, [5000]])
      expect(api.limits(url)).toEqual([])
    }
  })

  it('an answer that a redirect fetched from another origin teaches nothing about this one', async () => {
    const other = await serve(inTurn({ headers: empty }))
    const server = await serve((_seen, response) => response.writeHead(302, { location: other.url }).end())
    const api = createFetch({ maxWaitSeconds: 1 })
    expect((await api(server.url)).url).toBe(`${other.url}/`)
    expect(api.limits(server.url)).toEqual([])
    expect((await api(server.url)).status).toBe(200)
  })

  it('a 429 from there is waited out by its own call alone, as long as it says', async () => {
    const other = await serve(inTurn({ status: 429, headers: { 'retry-after': '1' } }, {}))
    const server = await serve((seen, response) => {
      if (seen.path === '/away') response.writeHead(302, { location: other.url }).end()
      else response.end('here')
    })
    const api = createFetch()
    const away = api(`${server.url}/away`)
    await expect.poll(() => other.seen.length).toBe(1)
    const startMs = performance.now()
    expect(await (await api(server.url)).text()).toBe('here')
    expect(performance.now() - startMs).toBeLessThan(900)
    expect((await away).status).toBe(200)
    expect((other.seen[1]?.atMs ?? 0) - (other.seen[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(1000)
  })

  it('an answer that a redirect fetched from the same origin teaches as any other', async () => {
    const server = await serve((seen, response) => {
      if (seen.path === '/there') response.writeHead(200, { ratelimit: '"a";r=7;t=30' }).end()
      else response.writeHead(307, { location: '/there', ratelimit: '"a";r=0;t=30' }).end()
    })
    const api = createFetch()
    await api(server.url)
    expect(api.limits(server.url)).toMatchObject([{ policy: 'a', available: 7 }])
  })
})
