import { type CloseOptions, createFetch, RateLimitError } from '@ratepact/client'
import { tokenBucket } from '@ratepact/server'
import { limitedApi, testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { fakeServer, respond } from './fake.js'

const url = 'http://api.test/'
const exhausted = { ratelimit: '"a";r=0;t=10', 'ratelimit-policy': '"a";q=10;w=100;ratepact-refill="bucket"' }
const paths = (sent: readonly { input: unknown }[]): string[] =>
  sent.map(({ input }) => new URL(String(input)).pathname.slice(1))

describe('the queue of a partition', () => {
  it('sends in order of arrival', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 10)
    const api = createFetch({ fetch, clock })
    await clock.runUntil(Promise.all(['1', '2', '3', '4', '5'].map((path) => api(url + path))))
    expect(paths(sent)).toEqual(['1', '2', '3', '4', '5'])
  })

  it('sends higher priorities first, and equals in order of arrival', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 10)
    const api = createFetch({ fetch, clock })
    const call = (path: string, priority: number): Promise<Response> =>
      api(url + path, { rateLimit: { priority } })
    const calls = [call('probe', 0), call('low', -1), call('a', 0), call('b', 0), call('high', 5)]
    await clock.runUntil(Promise.all(calls))
    expect(paths(sent)).toEqual(['probe', 'high', 'a', 'b', 'low'])
  })

  it('keeps its order whoever leaves it', async () => {
    const draw = seeded(7)
    for (let round = 0; round < 30; round += 1) {
      const { clock, sent, fetch } = fakeServer(() => respond(200), 10)
      const api = createFetch({ fetch, clock })
      const probe = api(`${url}probe`)
      const calls = Array.from({ length: 40 }, (_, index) => ({
        path: String(index),
        priority: Math.floor(draw() * 20),
        controller: new AbortController(),
        leaves: draw() < 0.4,
      }))
      const ends = calls.map(({ path, priority, controller: { signal } }) =>
        api(url + path, { signal, rateLimit: { priority } }).catch(() => {}),
      )
      await clock.advance(1)
      for (const { controller, leaves } of calls) if (leaves) controller.abort()
      await clock.runUntil(Promise.all([probe, ...ends]))
      const expected = calls.filter(({ leaves }) => !leaves).sort((a, b) => b.priority - a.priority)
      expect(paths(sent).slice(1)).toEqual(expected.map(({ path }) => path))
    }
  })

  it('sends a refused call before all that arrived after it', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number === 2 ? 429 : 200), 10)
    const api = createFetch({ fetch, clock })
    await clock.runUntil(api(`${url}probe`))
    const first = api(`${url}first`)
    await clock.advance(15)
    const later = ['a', 'b', 'c'].map((path) => api(url + path))
    await clock.runUntil(Promise.all([first, ...later]))
    expect(paths(sent)).toEqual(['probe', 'first', 'first', 'a', 'b', 'c'])
  })

  it('waits for the first answer when nothing is known, then lets the others go', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 100)
    const api = createFetch({ fetch, clock })
    const calls = Promise.all([1, 2, 3].map(() => api(url)))
    await clock.advance(99)
    expect(sent).toHaveLength(1)
    await clock.runUntil(calls)
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 100, 100])
  })

  it('is not held up by a call that failed: the next one finds out instead', async () => {
    let calls = 0
    const { clock, fetch } = fakeServer(() => {
      calls += 1
      if (calls === 1) throw new TypeError('connection refused')
      return respond(200)
    }, 10)
    const api = createFetch({ fetch, clock })
    const first = expect(api(url)).rejects.toThrow('connection refused')
    const second = api(url)
    expect((await clock.runUntil(second)).status).toBe(200)
    await first
    expect(clock.now()).toBe(20)
  })

  it('has one timer, however many wait, and none when nobody does', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, exhausted))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 100_000 })
    await api(url)
    expect(clock.pending).toBe(0)
    const waiting = Promise.all(Array.from({ length: 50 }, () => api(url)))
    await clock.advance(1)
    expect(clock.pending).toBe(1)
    await clock.runUntil(waiting)
    expect(clock.pending).toBe(0)
  })

  it('sets no timer longer than a platform can keep, and waits on', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1 ? respond(429, { 'retry-after': '3000000' }) : respond(200),
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 3_100_000 })
    expect((await clock.runUntil(api(url))).status).toBe(200)
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(3_000_000_000)
  })

  it('looks again at the clock when a timer fires early, also in a pause of one call alone', async () => {
    for (const status of [429, 503]) {
      const { clock, sent, fetch } = fakeServer((number) =>
        number > 1 ? respond(200) : respond(status, status === 429 ? { 'retry-after': '2' } : {}),
      )
      const early = {
        ...clock,
        setTimeout: (run: () => void, ms: number) => clock.setTimeout(run, Math.max(1, ms * 0.9)),
      }
      const backoff = { delaySeconds: () => 2 }
      const api = createFetch({ fetch, clock: early, backoff, retry: { statuses: [429, 503] } })
      await clock.runUntil(api(url))
      expect(sent[1]?.atMs).toBeGreaterThanOrEqual(2000)
    }
  })
})

describe('a wait that is too long', () => {
  it('is refused at once when it is known to be, with the state in the error and nothing sent', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200, exhausted))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 5 })
    await api(url, { headers: { authorization: 'Bearer secret' } })
    const error: unknown = await api(url, { headers: { authorization: 'Bearer secret' } }).catch((e) => e)
    expect(error).toBeInstanceOf(RateLimitError)
    if (!(error instanceof RateLimitError)) return
    expect(error.reason).toBe('max-wait')
    expect(error.retryAfterSeconds).toBeGreaterThan(5)
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(31)
    expect(error.limits).toMatchObject([{ policy: 'a', quota: 10, windowSeconds: 100 }])
    expect(error.message).not.toContain('secret')
    expect(clock.now()).toBe(0)
    expect(sent).toHaveLength(1)
  })

  it('is told in whole milliseconds, and never as less than it is', async () => {
    const third = { ratelimit: '"a";r=0;t=1', 'ratelimit-policy': '"a";q=3;w=1;ratepact-refill="bucket"' }
    const { clock, fetch } = fakeServer(() => respond(200, third))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 0 })
    await api(url)
    // The next of three in a second, and what the delay of a call may hide.
    const refused = api(url)
    await expect(refused).rejects.toMatchObject({ reason: 'max-wait', retryAfterSeconds: 0.344 })
    await expect(refused).rejects.toThrow('#1 may be called again in 0.344 s')
  })

  it('is refused for each call by its own measure', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, exhausted))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 5 })
    await api(url)
    const patient = api(url, { rateLimit: { maxWaitSeconds: 100 } })
    await expect(api(url)).rejects.toMatchObject({ reason: 'max-wait' })
    expect((await clock.runUntil(patient)).status).toBe(200)
  })

  it('is ended when the time is up, also behind others and behind an answer that never comes', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 10_000_000)
    const api = createFetch({ fetch, clock, maxWaitSeconds: 3 })
    void api(url)
    const waiting = [1, 2, 3].map((seconds) =>
      api(url, { rateLimit: { maxWaitSeconds: seconds } }).catch((error) => [error.reason, clock.now()]),
    )
    await clock.advance(3001)
    expect(await Promise.all(waiting)).toEqual([
      ['max-wait', 1000],
      ['max-wait', 2000],
      ['max-wait', 3000],
    ])
  })

  it('is measured over all attempts of a call, not anew for each', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(429, { 'retry-after': '4' }))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 10, maxAttempts: 10 })
    expect((await clock.runUntil(api(url))).status).toBe(429)
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 4000, 8000])
    expect(clock.now()).toBe(8000)
  })

  it('is bounded though refusals of other calls put the block off again and again', async () => {
    const { clock, fetch } = fakeServer(
      (number) => (number === 1 ? respond(200) : respond(429, { 'retry-after': '2' })),
      10,
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 5, maxAttempts: 50 })
    await clock.runUntil(api(url))
    const calls = Array.from({ length: 10 }, () => api(url).catch((error: unknown) => error))
    const startMs = clock.now()
    const results = await clock.runUntil(Promise.all(calls))
    expect(clock.now() - startMs).toBeLessThanOrEqual(5100)
    for (const result of results) {
      if (result instanceof Response) expect(result.status).toBe(429)
      else expect(result).toMatchObject({ reason: 'max-wait' })
    }
    expect(clock.pending).toBe(0)
  })

  it('0 means: now or not at all', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, exhausted))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 0 })
    expect((await api(url)).status).toBe(200)
    await expect(api(url)).rejects.toMatchObject({ reason: 'max-wait' })
  })

  it('is not foreseen wrongly: calls behind a first one in flight are not refused before its answer', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 100)
    const api = createFetch({ fetch, clock, maxWaitSeconds: 1 })
    const responses = await clock.runUntil(Promise.all(Array.from({ length: 10 }, () => api(url))))
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })
})

describe('a stated wait longer than ten minutes', () => {
  const blocked = { 'retry-after': '3600' }

  it('is believed to its end by a call that may wait for so long', async () => {
    for (const headers of [
      blocked,
      { ...blocked, ratelimit: '"a";r=0;t=3600', 'ratelimit-policy': '"a";q=9' },
    ]) {
      const { clock, sent, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200, headers))
      const api = createFetch({ fetch, clock })
      const patient = { rateLimit: { maxWaitSeconds: 20_000 } }
      expect((await clock.runUntil(api(url, patient))).status).toBe(200)
      expect(sent[1]?.atMs).toBeGreaterThanOrEqual(3_600_000)
    }
  })

  it('is believed by a call that came after it was stated, and by one in a unit that cannot be counted', async () => {
    const bytes = { ratelimit: '"b";r=0;t=3600', 'ratelimit-policy': '"b";q=9;qu="content-bytes"' }
    for (const headers of [blocked, { ...blocked, ...bytes }]) {
      const { clock, sent, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200, headers))
      const api = createFetch({ fetch, clock })
      await api(url)
      await clock.advance(100_000)
      const patient = api(`${url}other`, { rateLimit: { maxWaitSeconds: 20_000 } })
      expect((await clock.runUntil(patient)).status).toBe(200)
      expect(sent[1]?.atMs).toBeGreaterThanOrEqual(3_600_000)
    }
  })

  it('is told in full to calls that cannot wait, and one asks after ten minutes', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200, blocked))
    const api = createFetch({ fetch, clock })
    await api(url)
    await expect(api(url)).rejects.toMatchObject({ reason: 'max-wait', retryAfterSeconds: 3600 })
    await clock.advance(599_000)
    await expect(api(url, { rateLimit: { maxWaitSeconds: 0.5 } })).rejects.toMatchObject({
      retryAfterSeconds: 3001,
    })
    expect((await clock.runUntil(api(url))).status).toBe(200)
    expect(sent[1]?.atMs).toBe(600_000)
    expect((await api(url)).status).toBe(200)
  })
})

describe('a full queue', () => {
  it('refuses more calls at once, and is open again when one has left', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 10)
    const api = createFetch({ fetch, clock, maxQueue: 2 })
    const calls = [api(url), api(url), api(url)]
    const controller = new AbortController()
    await expect(api(url, { signal: controller.signal })).rejects.toMatchObject({
      name: 'RateLimitError',
      reason: 'queue-full',
    })
    await clock.runUntil(Promise.all(calls))
    expect((await clock.runUntil(api(url))).status).toBe(200)
    expect(sent).toHaveLength(4)
  })

  it('never turns away a call that was sent before', async () => {
    const { clock, fetch } = fakeServer((number) => respond(number <= 4 ? 429 : 200), 10)
    const api = createFetch({
      fetch,
      clock,
      maxQueue: 1,
      maxAttempts: 6,
      policies: [{ policy: 'a', quota: 100, unit: 'requests', windowSeconds: 1 }],
    })
    const responses = await clock.runUntil(Promise.all([api(url), api(url), api(url)]))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
  })
})

describe('close', () => {
  it('ends every wait and refuses what comes after, and lets calls in flight end', async () => {
    const { clock, fetch } = fakeServer((number) => respond(number === 2 ? 503 : 200), 10)
    const api = createFetch({ fetch, clock, retry: { statuses: [503] } })
    await clock.runUntil(api(url))
    const pausing = api(url)
    await clock.advance(20)
    const flying = api(url)
    await clock.advance(1)
    void api.close()
    await expect(api(url)).rejects.toMatchObject({ name: 'RateLimitError', reason: 'closed' })
    expect((await clock.runUntil(pausing)).status).toBe(503)
    expect((await clock.runUntil(flying)).status).toBe(200)
    expect(clock.pending).toBe(0)
  })

  it('ends waits in a queue', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, exhausted))
    const api = createFetch({ fetch, clock })
    await api(url)
    const waiting = [api(url), api(url)].map((call) =>
      expect(call).rejects.toMatchObject({ reason: 'closed' }),
    )
    await clock.advance(1)
    void api.close()
    await Promise.all(waiting)
    expect(clock.pending).toBe(0)
  })
})

describe('close with drain', () => {
  it('refuses what comes after, and lets what waits be sent as it would have been, retries too', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number === 2 ? 429 : 200), 10)
    const api = createFetch({ fetch, clock })
    const calls = Promise.all([api(url), api(url), api(url)])
    await clock.advance(1)
    let closed = false
    const closing = api.close({ drain: true }).then(() => {
      closed = true
    })
    await expect(api(url)).rejects.toMatchObject({ name: 'RateLimitError', reason: 'closed' })
    await clock.advance(11)
    expect(closed).toBe(false)
    expect((await clock.runUntil(calls)).map(({ status }) => status)).toEqual([200, 200, 200])
    await closing
    expect(sent).toHaveLength(4)
    expect(clock.pending).toBe(0)
  })

  it('can be cut short by a plain close', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, exhausted))
    const api = createFetch({ fetch, clock })
    await api(url)
    const waiting = expect(api(url)).rejects.toMatchObject({ reason: 'closed' })
    await clock.advance(1)
    const draining = api.close({ drain: true })
    await api.close()
    await Promise.all([waiting, draining])
    expect(clock.pending).toBe(0)
  })

  it('is over at once when nothing is under way, and names an option that makes no sense', async () => {
    const api = createFetch()
    await expect(api.close({ drains: true } as CloseOptions)).rejects.toThrow(
      'Expected close options to have only drain',
    )
    await api.close({ drain: true })
    await api.close()
  })
})

describe('queue', () => {
  it('tells what waits and what is under way, in all and by partition, without credentials', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 10)
    const api = createFetch({ fetch, clock })
    expect(api.queue).toEqual({ waiting: 0, inFlight: 0, partitions: [] })
    const secret = { headers: { authorization: 'Bearer secret' } }
    const calls = [api(url), api(url), api(url), api(url, secret)]
    await clock.advance(1)
    expect(api.queue).toEqual({
      waiting: 2,
      inFlight: 2,
      partitions: [
        { partition: 'http://api.test #1', waiting: 2, inFlight: 1 },
        { partition: 'http://api.test #2', waiting: 0, inFlight: 1 },
      ],
    })
    await clock.runUntil(Promise.all(calls))
    expect(api.queue).toEqual({ waiting: 0, inFlight: 0, partitions: [] })
  })

  it('refuses no call for the sake of units that it keeps, and lets none that came later go in its place', async () => {
    const clock = testClock()
    const policies = [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 2 })]
    const server = limitedApi({ policies, clock, latencySeconds: 0.02 })
    const answers: number[] = []
    const fetch = (input: RequestInfo | URL, init?: RequestInit) => server.fetch(new Request(input, init))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 5 })
    const calls = Array.from({ length: 30 }, (_, number) =>
      api(url).then(
        ({ status }) => status === 200 && answers.push(number),
        () => {},
      ),
    )
    await clock.runUntil(Promise.all(calls))
    // 5 units, and 9 that come within 4.5 s: the next comes when nobody can wait for it any more.
    expect(answers).toEqual(Array.from({ length: 14 }, (_, number) => number))
  })
})

/** The same numbers in each run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}
