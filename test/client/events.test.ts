import { type ClientEvent, createFetch } from '@ratepact/client'
import { tokenBucket } from '@ratepact/server'
import { limitedApi, testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { fakeServer, respond } from './fake.js'

const url = 'http://api.test/orders/17'
const place = { partition: 'http://api.test #1', route: 'GET /orders/*' }

describe('onEvent', () => {
  it('tells a refusal and the retry, before the wait', async () => {
    const { clock, fetch } = fakeServer((number) =>
      number === 1 ? respond(429, { 'retry-after': '5' }) : respond(200),
    )
    const events: [number, ClientEvent][] = []
    const api = createFetch({ fetch, clock, onEvent: (event) => events.push([clock.now(), event]) })
    await clock.runUntil(api(url))
    expect(events).toEqual([
      [0, { type: 'refused', status: 429, attempt: 1, retryAfterSeconds: 5, ...place }],
      [0, { type: 'retrying', status: 429, attempt: 2, waitSeconds: 5, ...place }],
      [0, { type: 'waiting', reason: 'refusal', queued: 1, waitSeconds: 5, ...place }],
      [5000, { type: 'answered', status: 200, attempts: 2, waitedSeconds: 5, ...place }],
    ])
  })

  it('tells who waits, and for how long where that is known', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 10)
    const events: ClientEvent[] = []
    const api = createFetch({ fetch, clock, onEvent: (event) => events.push(event) })
    await clock.runUntil(Promise.all([api(url), api(url)]))
    expect(events).toEqual([
      { type: 'waiting', reason: 'answer', queued: 1, ...place },
      { type: 'answered', status: 200, attempts: 1, waitedSeconds: 0, ...place },
      { type: 'answered', status: 200, attempts: 1, waitedSeconds: 0.01, ...place },
    ])
  })

  it('tells each reason to wait once, and not each call that waits, and tells it anew when the queue was empty', async () => {
    const { clock, fetch } = fakeServer(
      () =>
        respond(200, {
          ratelimit: '"b";r=0;t=1',
          'ratelimit-policy': '"b";q=5;w=5;ratepact-refill="bucket"',
        }),
      10,
    )
    const events: ClientEvent[] = []
    const onEvent = (event: ClientEvent): unknown => event.type === 'waiting' && events.push(event)
    const api = createFetch({ fetch, clock, onEvent, maxWaitSeconds: 1000 })
    await clock.runUntil(Promise.all(Array.from({ length: 40 }, () => api(url))))
    expect(events).toMatchObject([
      { reason: 'answer', queued: 1 },
      { reason: 'limit', policy: 'b', queued: 39 },
    ])
    expect(events[1]).toHaveProperty('waitSeconds')
    await clock.advance(1)
    await clock.runUntil(api(url))
    expect(events.slice(2)).toMatchObject([{ reason: 'limit', policy: 'b', queued: 1 }])
  })

  it('names no time where only an answer in flight can tell one', async () => {
    const { clock, fetch } = fakeServer(
      () => respond(200, { ratelimit: '"b";r=8;t=9', 'ratelimit-policy': '"b";q=10;w=10' }),
      10,
    )
    const events: ClientEvent[] = []
    const api = createFetch({ fetch, clock, maxQueue: 1, onEvent: (event) => events.push(event) })
    await clock.runUntil(api(url))
    events.length = 0
    const [, , full] = await clock.runUntil(Promise.allSettled([api(url), api(url), api(url)]))
    const error = { reason: 'queue-full', retryAfterSeconds: undefined }
    expect(full).toMatchObject({ status: 'rejected', reason: error })
    expect(events[0]).toEqual({ type: 'waiting', reason: 'answer', queued: 1, ...place })
  })

  it('tells a retry after a call without an answer, without a status', async () => {
    let calls = 0
    const { clock, fetch } = fakeServer(() => {
      calls += 1
      if (calls === 1) throw new TypeError('fetch failed', { cause: new Error('reset') })
      return respond(200)
    })
    const events: ClientEvent[] = []
    const onEvent = (event: ClientEvent): unknown => events.push(event)
    const api = createFetch({ fetch, clock, onEvent, random: () => 0, retry: { networkErrors: true } })
    await clock.runUntil(api(url))
    expect(events[0]).toEqual({ type: 'retrying', attempt: 2, waitSeconds: 0.05, ...place })
  })

  it('tells why a call was given up', async () => {
    const { clock, fetch } = fakeServer(() => respond(429, { 'retry-after': '5' }))
    const events: ClientEvent[] = []
    const api = createFetch({
      fetch,
      clock,
      maxWaitSeconds: 8,
      maxAttempts: 2,
      onEvent: (event) => events.push(event),
    })
    await clock.runUntil(api(url))
    await api(url, { rateLimit: { maxWaitSeconds: 1 } }).catch(() => {})
    const body = new Blob(['x']).stream()
    await clock.runUntil(api(url, { method: 'POST', body, duplex: 'half' } as RequestInit))
    const reasons = events.filter((event) => event.type === 'gave-up')
    expect(reasons).toEqual([
      { type: 'gave-up', attempts: 2, reason: 'attempts', ...place },
      { type: 'gave-up', attempts: 0, reason: 'max-wait', ...place },
      { type: 'gave-up', attempts: 1, reason: 'body', partition: place.partition, route: 'POST /orders/*' },
    ])
  })

  it('that throws, or rejects later, breaks nothing', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    for (const onEvent of [
      () => {
        throw new Error('my own fault')
      },
      () => Promise.reject(new Error('my own fault, later')),
    ]) {
      const { clock, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200))
      const api = createFetch({ fetch, clock, onEvent })
      expect((await clock.runUntil(api(url))).status).toBe(200)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  it('may call the client again', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200))
    let again: Promise<Response> | undefined
    const api = createFetch({
      fetch,
      clock,
      onEvent(event) {
        if (event.type === 'refused') again = api(url)
      },
    })
    expect((await clock.runUntil(api(url))).status).toBe(200)
    expect((await clock.runUntil(again ?? Promise.reject())).status).toBe(200)
    expect(sent).toHaveLength(3)
  })

  // The second call waits behind the first, which is refused once.
  const told = ['waiting', 'refused', 'retrying', 'answered'] as const
  for (const type of told) {
    it(`may close the client when it is told of ${type}`, async () => {
      const { clock, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200), 10)
      let closed: Promise<void> | undefined
      const api = createFetch({
        fetch,
        clock,
        onEvent(event) {
          if (event.type === type) closed ??= api.close()
        },
      })
      const calls = Promise.allSettled([api(url), api(url)])
      await clock.runUntil(calls)
      await clock.runUntil(closed ?? Promise.reject(new Error(`Nobody was told of ${type}`)))
      expect(api.queue).toMatchObject({ waiting: 0, inFlight: 0 })
    })

    it(`may abort the calls when it is told of ${type}, at once`, async () => {
      const { clock, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200), 1000)
      const stop = new AbortController()
      let abortedMs = Number.NaN
      const api = createFetch({
        fetch,
        clock,
        onEvent(event) {
          if (event.type !== type || stop.signal.aborted) return
          abortedMs = clock.now()
          stop.abort(new Error('enough'))
        },
      })
      const endedMs = [api(url, { signal: stop.signal }), api(url, { signal: stop.signal })].map((call) =>
        call.catch(() => {}).then(() => clock.now()),
      )
      // One that has its answer keeps it.
      expect(await clock.runUntil(Promise.all(endedMs))).toEqual([abortedMs, abortedMs])
    })
  }

  it('may abort a call when it is told that it waits, and so end its wait', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 1000)
    const stop = new AbortController()
    const onEvent = ({ type }: ClientEvent): void =>
      void (type === 'waiting' && stop.abort(new Error('enough')))
    const api = createFetch({ fetch, clock, onEvent })
    const first = api(url)
    await expect(api(url, { signal: stop.signal })).rejects.toThrow('enough')
    expect(clock.now()).toBe(0)
    expect((await clock.runUntil(first)).status).toBe(200)
  })

  for (const [capacity, refillPerSecond, calls] of [
    [5, 2, 30],
    [10, 1, 50],
    [20, 2, 100],
    [20, 50, 100],
  ] as const) {
    it(`names the limit that ${calls} calls wait for, of ${capacity} and ${refillPerSecond} a second`, async () => {
      const clock = testClock()
      const policies = [tokenBucket({ name: 'burst', capacity, refillPerSecond })]
      const server = limitedApi({ policies, clock, latencySeconds: 0.02 })
      const events: ClientEvent[] = []
      const onEvent = (event: ClientEvent): unknown => event.type === 'waiting' && events.push(event)
      const fetch = (input: RequestInfo | URL, init?: RequestInit) => server.fetch(new Request(input, init))
      const api = createFetch({ fetch, clock, onEvent })
      await clock.runUntil(Promise.all(Array.from({ length: calls }, () => api(url))))
      expect(events).toMatchObject([
        { reason: 'answer', queued: 1 },
        { reason: 'limit', policy: 'burst' },
      ])
      expect(events[1]).toHaveProperty('waitSeconds')
    })
  }
})
