import { createFetch, exponentialBackoff } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, gaps, respond } from './fake.js'
import { inTurn, serve } from './http.js'

const url = 'http://api.test/'
const quick = exponentialBackoff({ firstSeconds: 0.02 })

describe('Retry-After on a 429', () => {
  it('in seconds is waited for, and not a moment less, over real HTTP', async () => {
    const server = await serve(inTurn({ status: 429, headers: { 'retry-after': '1' } }, {}))
    expect((await createFetch()(server.url)).status).toBe(200)
    expect(gaps(server.seen)[0]).toBeGreaterThanOrEqual(1000)
  })

  it('as a date is counted from the Date of the answer, however wrong the clock here is', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1
        ? respond(429, {
            date: 'Sun, 06 Nov 1994 08:49:37 GMT',
            'retry-after': 'Sun, 06 Nov 1994 08:49:40 GMT',
          })
        : respond(200),
    )
    await clock.runUntil(createFetch({ fetch, clock })(url))
    expect(gaps(sent)).toEqual([3000])
  })

  it('in parts of a second, which the standard does not have, is not undercut', async () => {
    for (const [value, expected] of [
      ['5.0', 5000],
      ['1.2', 2000],
      ['0.5, 2.5', 3000],
    ] as const) {
      const { clock, sent, fetch } = fakeServer((number) =>
        number === 1 ? respond(429, { 'retry-after': value }) : respond(200),
      )
      await clock.runUntil(createFetch({ fetch, clock })(url))
      expect([value, gaps(sent)]).toEqual([value, [expected]])
    }
  })

  it('longer than any backoff is not cut short', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1 ? respond(429, { 'retry-after': '40' }) : respond(200),
    )
    const backoff = exponentialBackoff({ firstSeconds: 0.5, maxSeconds: 1 })
    await clock.runUntil(createFetch({ fetch, clock, backoff })(url))
    expect(gaps(sent)[0]).toBeGreaterThanOrEqual(40_000)
  })

  it('in our milliseconds is waited for instead, where the answer carries both of our hints', async () => {
    const hint = '"a";r=0;t=1;ratepact-t-ms=340'
    const cases = [
      [{ 'retry-after': '1', 'retry-after-ms': '340', ratelimit: hint }, 340],
      [{ 'retry-after': '1', 'retry-after-ms': '340', ratelimit: '"a";r=0;t=1' }, 1000],
      [{ 'retry-after': '1', ratelimit: hint }, 1000],
      [{ 'retry-after': '1', 'retry-after-ms': '340' }, 1000],
      [{ 'retry-after': '1', 'retry-after-ms': '5000', ratelimit: hint }, 1000],
      [{ 'retry-after': '1', 'retry-after-ms': 'soon', ratelimit: hint }, 1000],
    ] as const
    for (const [headers, expected] of cases) {
      const { clock, sent, fetch } = fakeServer((number) =>
        number === 1 ? respond(429, headers) : respond(200),
      )
      await clock.runUntil(createFetch({ fetch, clock })(url))
      expect([headers, Math.floor((gaps(sent)[0] ?? 0) / 10)]).toEqual([headers, expected / 10])
    }
  })

  it('shorter than the limit that stands behind it is waited for longer and longer', async () => {
    const headers = { 'retry-after': '1', 'retry-after-ms': '10', ratelimit: '"a";r=0;t=1;ratepact-t-ms=10' }
    const { clock, sent, fetch } = fakeServer(() => respond(429, headers))
    await clock.runUntil(createFetch({ fetch, clock, maxAttempts: 6 })(url))
    const waits = gaps(sent)
    expect(waits).toHaveLength(5)
    for (const [index, wait] of waits.entries()) expect(wait).toBeGreaterThan(waits[index - 1] ?? 9)
  })

  it('is missing: the time that an exhausted limit states is waited for', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1 ? respond(429, { ratelimit: '"a";r=0;t=2, "b";r=5;t=50' }) : respond(200),
    )
    await clock.runUntil(createFetch({ fetch, clock })(url))
    expect(gaps(sent)[0]).toBeGreaterThanOrEqual(2000)
    expect(gaps(sent)[0]).toBeLessThan(3000)
  })

  it('is obeyed by all: ten calls in parallel, the first refused, and nothing is sent until the time has come', async () => {
    const { clock, sent, fetch } = fakeServer((number) => {
      if (number === 2) return respond(429, { 'retry-after': '5' })
      return respond(200)
    }, 10)
    const api = createFetch({ fetch, clock })
    await clock.runUntil(api(url))
    const first = api(url)
    await clock.advance(11)
    const rest = Array.from({ length: 9 }, () => api(url))
    const responses = await clock.runUntil(Promise.all([first, ...rest]))
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const refusedAtMs = 20
    expect(sent.slice(2)).toHaveLength(10)
    for (const { atMs } of sent.slice(2)) expect(atMs).toBeGreaterThanOrEqual(refusedAtMs + 5000)
  })

  it('on an answer that is no refusal means nothing', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      respond([200, 404, 500, 301][number - 1] ?? 200, { 'retry-after': '1000' }),
    )
    const api = createFetch({ fetch, clock })
    for (let call = 0; call < 5; call += 1) await api(url, { redirect: 'manual' })
    expect(sent).toHaveLength(5)
    expect(clock.now()).toBe(0)
  })
})

describe('calls that were refused together', () => {
  it('pass the pace again one by one, as the server gives, and not all at once', async () => {
    const limit = { 'ratelimit-policy': '"b";q=5;w=5;ratepact-refill="bucket"' }
    const { clock, sent, fetch } = fakeServer((number, { atMs }) => {
      // Somebody else has taken everything when five calls come at once.
      if (number > 1 && atMs < 100)
        return respond(429, { ...limit, ratelimit: '"b";r=0;t=2', 'retry-after': '2' })
      return respond(200, { ...limit, ratelimit: number === 1 ? '"b";r=4;t=1' : '"b";r=0;t=1' })
    }, 10)
    const api = createFetch({ fetch, clock })
    await clock.runUntil(api(url))
    const calls = Array.from({ length: 5 }, () => api(url))
    const responses = await clock.runUntil(Promise.all(calls))
    expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(200))
    const again = sent.filter(({ atMs }) => atMs > 100)
    expect(again.length).toBeGreaterThanOrEqual(4)
    // A unit comes back each second.
    for (const [index, { atMs }] of again.entries()) expect(atMs).toBeGreaterThanOrEqual(1000 * (index + 1))
  })
})

describe('refusals that say nothing', () => {
  const policies = [{ policy: 'a', quota: 1000, unit: 'requests', windowSeconds: 1 }]

  it('count once when their calls were sent together', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number <= 10 ? 429 : 200), 10)
    const api = createFetch({ fetch, clock, policies, random: () => 0.999 })
    await clock.runUntil(Promise.all(Array.from({ length: 10 }, () => api(url))))
    expect(sent[9]?.atMs).toBe(0)
    expect(sent[10]?.atMs).toBeLessThanOrEqual(1015)
  })

  it('count afresh after a success', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number % 2 === 1 ? 429 : 200))
    const api = createFetch({ fetch, clock, policies, random: () => 0.999 })
    for (let call = 0; call < 5; call += 1) await clock.runUntil(api(url))
    const waits = gaps(sent).filter((_, index) => index % 2 === 0)
    for (const wait of waits) expect(Math.round(wait / 10)).toBe(100)
  })
})

describe('what is retried', () => {
  it('a 429 is, for every method', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const server = await serve(inTurn({ status: 429 }, {}))
      expect((await createFetch({ backoff: quick })(server.url, { method })).status).toBe(200)
      expect(server.seen.map((seen) => seen.method)).toEqual([method, method])
    }
  })

  it('other statuses and network errors are not, by default', async () => {
    for (const status of [400, 403, 408, 500, 502, 503]) {
      const server = await serve(inTurn({ status, headers: { 'retry-after': '0' } }, {}))
      expect((await createFetch({ backoff: quick })(server.url)).status).toBe(status)
      expect(server.seen).toHaveLength(1)
    }
    const server = await serve((_seen, response) => response.destroy())
    await expect(createFetch({ backoff: quick })(server.url)).rejects.toBeInstanceOf(TypeError)
    expect(server.seen.length).toBe(1)
  })

  it('a status asked for is, for methods that may be repeated', async () => {
    const options = { backoff: quick, retry: { statuses: [429, 500] } }
    for (const [method, status] of [
      ['GET', 200],
      ['DELETE', 200],
      ['POST', 500],
      ['PATCH', 500],
    ] as const) {
      const server = await serve(inTurn({ status: 500 }, {}))
      expect([method, (await createFetch(options)(server.url, { method })).status]).toEqual([method, status])
    }
  })

  it('a status asked for is, for the methods asked for', async () => {
    const retry = { statuses: [500], methods: ['post'] }
    const server = await serve(inTurn({ status: 500 }, {}))
    expect((await createFetch({ backoff: quick, retry })(server.url, { method: 'POST' })).status).toBe(200)
  })

  it('a 429 is not, when it was taken off the list', async () => {
    const server = await serve(inTurn({ status: 429 }, {}))
    expect((await createFetch({ retry: { statuses: [] } })(server.url)).status).toBe(429)
    expect(server.seen).toHaveLength(1)
  })

  it('another status holds up its own call only', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number === 2 ? 500 : 200), 10)
    const api = createFetch({ fetch, clock, retry: { statuses: [500] }, random: () => 0.9 })
    await clock.runUntil(api(url))
    const slow = api(`${url}slow`)
    await clock.advance(15)
    await clock.runUntil(api(`${url}quick`))
    expect(clock.now()).toBeLessThan(100)
    expect((await clock.runUntil(slow)).status).toBe(200)
    expect(gaps(sent)[2]).toBeGreaterThan(500)
  })

  it('a 503 asked for with a Retry-After holds up the partition, as a 429 does', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1 ? respond(503, { 'retry-after': '5' }) : respond(200),
    )
    const api = createFetch({ fetch, clock, retry: { statuses: [429, 503] } })
    const calls = [api(url), api(url)]
    await clock.runUntil(Promise.all(calls))
    expect(sent.map(({ atMs }) => atMs >= 5000)).toEqual([false, true, true])
  })
})

describe('maxAttempts', () => {
  it('counts sends, not waits: a call that waits for long behind others still has all of them', async () => {
    const { clock, sent, fetch } = fakeServer(
      (number) => respond(number <= 12 && number % 3 === 1 ? 429 : 200),
      5,
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 600 })
    const responses = await clock.runUntil(Promise.all(Array.from({ length: 10 }, () => api(url))))
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(sent).toHaveLength(14)
  })

  it('1 means no retry, and the answer comes back untouched', async () => {
    const server = await serve(inTurn({ status: 429, body: 'whole' }))
    const response = await createFetch({ maxAttempts: 1 })(server.url)
    expect(await response.text()).toBe('whole')
    expect(server.seen).toHaveLength(1)
  })
})

describe('a client around a client', () => {
  it('does not multiply the attempts', async () => {
    const server = await serve(inTurn({ status: 429 }))
    const inner = createFetch({ backoff: quick })
    const middle = createFetch({ fetch: inner, backoff: quick })
    const outer = createFetch({ fetch: middle, backoff: quick })
    expect((await outer(server.url)).status).toBe(429)
    expect(server.seen).toHaveLength(3)
  })

  it('passes on the error of the inner one', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(429, { 'retry-after': '100' }))
    const inner = createFetch({ fetch, clock })
    const outer = createFetch({ fetch: inner, clock, maxWaitSeconds: 1000 })
    expect((await clock.runUntil(outer(url))).status).toBe(429)
    await expect(inner(url)).rejects.toMatchObject({ reason: 'max-wait' })
    expect(sent).toHaveLength(1)
  })
})
