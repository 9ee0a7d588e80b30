import { type ClientEvent, createFetch } from '@ratepact/client'
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
      [0, { type: 'waiting', queued: 1, waitSeconds: 5, ...place }],
    ])
  })

  it('tells who waits, and for how long where that is known', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 10)
    const events: ClientEvent[] = []
    const api = createFetch({ fetch, clock, onEvent: (event) => events.push(event) })
    await clock.runUntil(Promise.all([api(url), api(url)]))
    expect(events).toMatchObject([{ type: 'waiting', queued: 1, ...place }])
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
})
