import { type ClientEvent, createFetch, exponentialBackoff, RateLimitError } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, gaps, respond } from './fake.js'
import { inTurn, serve } from './http.js'

const quick = exponentialBackoff({ firstSeconds: 0.05, maxSeconds: 0.2 })
const ok = { status: 200 }

describe('a Retry-After that cannot be used', () => {
  for (const value of ['soon', '-3', '+3', '1.', '120junk', '', '1e3', 'Thu, 32 Foo 2020 99:99:99 GMT']) {
    it(`${JSON.stringify(value)} on a 429 leads to a retry by backoff, over real HTTP`, async () => {
      const server = await serve(inTurn({ status: 429, headers: { 'retry-after': value } }, ok))
      const api = createFetch({ backoff: quick, maxWaitSeconds: 5 })
      const response = await api(server.url)
      expect(response.status).toBe(200)
      expect(server.seen).toHaveLength(2)
    })
  }

  it('a date in the past and 0 are no invitation to come back at once', async () => {
    for (const value of ['0', 'Sun, 06 Nov 1994 08:49:37 GMT']) {
      const { clock, sent, fetch } = fakeServer(() => respond(429, { 'retry-after': value }))
      const api = createFetch({ fetch, clock, random: () => 0.5, maxAttempts: 5 })
      const response = await clock.runUntil(api('http://api.test/'))
      expect(response.status).toBe(429)
      expect(sent).toHaveLength(5)
      const waits = gaps(sent)
      for (const [index, wait] of waits.entries()) expect(wait).toBeGreaterThan(waits[index - 1] ?? 499)
    }
  })
})

describe('a Retry-After that is too long', () => {
  const epoch = String(Math.floor(Date.now() / 1000) + 2)
  for (const value of ['120', '3000000', '99999999999', '9'.repeat(400), epoch]) {
    it(`${value.slice(0, 12)} gets the 429 back at once, after one send`, async () => {
      const server = await serve(inTurn({ status: 429, headers: { 'retry-after': value }, body: 'too much' }))
      const api = createFetch()
      const startMs = performance.now()
      const response = await api(server.url)
      expect(response.status).toBe(429)
      expect(await response.text()).toBe('too much')
      expect(performance.now() - startMs).toBeLessThan(2000)
      expect(server.seen).toHaveLength(1)
    })

    it(`${value.slice(0, 12)} makes the next call fail at once, with the wait in the error and nothing sent`, async () => {
      const { clock, sent, fetch } = fakeServer(() => respond(429, { 'retry-after': value }))
      const api = createFetch({ fetch, clock })
      await clock.runUntil(api('http://api.test/'))
      const error = await api('http://api.test/').catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(RateLimitError)
      expect(error).toMatchObject({ reason: 'max-wait', retryAfterSeconds: Math.min(Number(value), 2 ** 31) })
      expect(sent).toHaveLength(1)
      expect(clock.now()).toBe(0)
      expect(clock.pending).toBe(0)
    })
  }

  it('is believed for ten minutes at most: then one call asks again', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1 ? respond(429, { 'retry-after': '99999999999' }) : respond(200),
    )
    const api = createFetch({ fetch, clock })
    await clock.runUntil(api('http://api.test/'))
    await clock.advance(550_000)
    const response = await clock.runUntil(api('http://api.test/'))
    expect(response.status).toBe(200)
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(600_000)
    expect(sent[1]?.atMs).toBeLessThan(611_000)
  })
})

describe('a server that answers 429 for ever and says nothing', () => {
  it('is asked maxAttempts times, at growing gaps within the cap', async () => {
    for (const seed of [0, 0.3, 0.999]) {
      const { clock, sent, fetch } = fakeServer(() => respond(429))
      const api = createFetch({ fetch, clock, random: () => seed, maxAttempts: 6, maxWaitSeconds: 300 })
      const response = await clock.runUntil(api('http://api.test/'))
      expect(response.status).toBe(429)
      expect(sent).toHaveLength(6)
      const waits = gaps(sent)
      for (const [index, wait] of waits.entries()) {
        expect(wait).toBeGreaterThanOrEqual(waits[index - 1] ?? 50)
        expect(wait).toBeLessThanOrEqual(30_000)
      }
      expect(waits.at(-1)).toBeGreaterThan(2 * (waits[0] ?? Number.NaN))
      expect(clock.pending).toBe(0)
    }
  })

  it('is asked three times by default, over real HTTP, and its last answer is returned readable', async () => {
    const server = await serve(
      inTurn({ status: 429, headers: { 'content-type': 'text/html' }, body: '<p>No' }),
    )
    const api = createFetch({ backoff: quick })
    const response = await api(server.url)
    expect(response.status).toBe(429)
    expect(await response.text()).toBe('<p>No')
    expect(server.seen).toHaveLength(3)
  })

  it('is not stormed by many calls: each is sent at most maxAttempts times, and none waits above the cap', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(429), 20)
    const api = createFetch({ fetch, clock, random: () => 0.5, maxWaitSeconds: 60 })
    const calls = Array.from({ length: 10 }, () => api('http://api.test/'))
    const startMs = clock.now()
    const results = await clock.runUntil(Promise.allSettled(calls))
    expect(sent.length).toBeLessThanOrEqual(30)
    expect(clock.now() - startMs).toBeLessThanOrEqual(61_000)
    for (const result of results) {
      if (result.status === 'fulfilled') expect(result.value.status).toBe(429)
      else expect(result.reason).toMatchObject({ name: 'RateLimitError', reason: 'max-wait' })
    }
    // One at a time after the first refusal: never two sends within the shortest wait there is.
    for (const gap of gaps(sent)) expect(gap).toBeGreaterThan(20)
    expect(clock.pending).toBe(0)
  })
})

describe('fields full of nonsense', () => {
  const garbage = [
    '"a";r=1;t=',
    'r=1',
    '(((((((((',
    '"a";r=-1',
    '"a";r=1.5;t=1',
    '"a";r=5e3',
    '"\\',
    ':::::',
    '"é";r=1',
    `"a";r=0;t=${'9'.repeat(16)}`,
  ]
  for (const value of garbage) {
    it(`RateLimit: ${value.slice(0, 24)} is ignored, and told`, async () => {
      const events: ClientEvent[] = []
      const { clock, fetch } = fakeServer(() => {
        const response = respond(200)
        // Set after the fact where the Headers class refuses the bytes.
        Reflect.defineProperty(response, 'headers', { value: headersOf({ ratelimit: value }) })
        return response
      })
      const api = createFetch({ fetch, clock, onEvent: (event) => events.push(event) })
      for (let call = 0; call < 3; call += 1) expect((await api('http://api.test/')).status).toBe(200)
      expect(events.filter((event) => event.type === 'field-ignored')).toHaveLength(3)
      expect(api.limits('http://api.test/')).toEqual([])
    })
  }

  it('a megabyte of them is not parsed', async () => {
    const megabyte = '"a";r=1, '.repeat(116_000)
    const { clock, fetch } = fakeServer((number) =>
      respond(number === 1 ? 429 : 200, {
        ratelimit: megabyte,
        'ratelimit-policy': megabyte,
        'retry-after': megabyte,
        age: megabyte,
      }),
    )
    const api = createFetch({ fetch, clock })
    const response = await clock.runUntil(api('http://api.test/'))
    expect(response.status).toBe(200)
    expect(api.limits('http://api.test/')).toEqual([])
  })

  it('thousands of well-formed items are not kept', async () => {
    const many = Array.from({ length: 2000 }, (_, index) => `"p${index}";r=0;t=9`).join(', ')
    const { clock, fetch } = fakeServer(() => respond(200, { ratelimit: many }))
    const api = createFetch({ fetch, clock })
    await api('http://api.test/')
    expect((await api('http://api.test/')).status).toBe(200)
    expect(api.limits('http://api.test/')).toEqual([])
  })

  it('r and t of 15 digits neither break the arithmetic nor park the client', async () => {
    const fields = {
      ratelimit: '"a";r=999999999999999;t=999999999999999',
      'ratelimit-policy': '"a";q=999999999999999;w=999999999999999',
    }
    const server = await serve(inTurn({ headers: fields }))
    const api = createFetch({ maxWaitSeconds: 5 })
    const responses = await Promise.all(Array.from({ length: 20 }, () => api(server.url)))
    expect(responses.map((response) => response.status)).toEqual(Array(20).fill(200))
    const [limit] = api.limits(server.url)
    expect(limit?.waitSeconds).toBe(0)
  })

  it('an exhausted limit for ever, on a 200, ends in an error that says so', async () => {
    const { clock, sent, fetch } = fakeServer(() =>
      respond(200, {
        ratelimit: '"a";r=0;t=999999999999999',
        'ratelimit-policy': '"a";q=1;w=999999999999999',
      }),
    )
    const api = createFetch({ fetch, clock })
    await clock.runUntil(api('http://api.test/'))
    const error = await clock.runUntil(api('http://api.test/').catch((reason: unknown) => reason))
    expect(error).toMatchObject({ name: 'RateLimitError', reason: 'max-wait' })
    expect(clock.now()).toBeLessThanOrEqual(60_000)
    expect(sent).toHaveLength(1)
  })
})

function headersOf(values: Record<string, string>): { get(name: string): string | null } {
  return { get: (name) => values[name.toLowerCase()] ?? null }
}
