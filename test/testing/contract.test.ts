import { createFetch, type RatepactFetch } from '@ratepact/client'
import { systemClock } from '@ratepact/contract'
import { type TokenBucketPolicy, tokenBucket } from '@ratepact/server'
import { type LimitedApi, limitedApi, type TestClock, testClock } from '@ratepact/testing'
import { limitedHandlers } from '@ratepact/testing/msw'
import { setupServer } from 'msw/node'
import { Agent, fetch as undiciFetch } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'

/** A client on one side, an API on the other, and what lies between. */
interface Setting {
  readonly api: LimitedApi
  readonly client: RatepactFetch
  readonly url: string
  /** Waits for calls to end, moving the clock where it does not move by itself. */
  settle<T>(promise: Promise<T>): Promise<T>
}

const bucket = (capacity: number, refillPerSecond: number): TokenBucketPolicy =>
  tokenBucket({ name: 'burst', capacity, refillPerSecond })

async function pure(policy: TokenBucketPolicy): Promise<Setting> {
  const clock = testClock()
  const api = limitedApi({ policies: [policy], clock, latencySeconds: 0.06 })
  return {
    api,
    client: createFetch({ fetch: api.fetch, clock }),
    url: 'https://api.example',
    settle: clock.runUntil,
  }
}

async function intercepted(policy: TokenBucketPolicy): Promise<Setting> {
  const clock = testClock()
  const api = limitedApi({ policies: [policy], clock, latencySeconds: 0.06 })
  const server = setupServer(...limitedHandlers(api, 'https://api.example/*'))
  server.listen({ onUnhandledRequest: 'error' })
  onTestFinished(() => server.close())
  return { api, client: createFetch({ clock }), url: 'https://api.example', settle: clock.runUntil }
}

async function overPort(policy: TokenBucketPolicy): Promise<Setting> {
  const api = limitedApi({ policies: [policy] })
  const server = await api.listen()
  const dispatcher = new Agent()
  onTestFinished(async () => {
    await dispatcher.close()
    await server.close()
  })
  const fetch = (input: string, init: object) =>
    undiciFetch(input, { ...init, dispatcher }) as unknown as Promise<Response>
  return { api, client: createFetch({ fetch }), url: server.url, settle: (promise) => promise }
}

describe.each([
  ['without a network', pure],
  ['through MSW, by the global fetch', intercepted],
  ['over a real port, by the fetch of undici', overPort],
])('a paced client %s', (_, set) => {
  test('makes three times the burst at once and is never refused', async () => {
    const { api, client, url, settle } = await set(bucket(10, 40))
    const calls = Array.from({ length: 30 }, (_, i) =>
      client(`${url}/orders`, { method: 'POST', body: JSON.stringify({ order: i }) }),
    )
    const responses = await settle(Promise.all(calls))
    expect(responses.filter(({ ok }) => ok)).toHaveLength(30)
    expect(api.counts()).toEqual({ received: 30, admitted: 30, refused: 0 })
    for (const response of responses) expect(await response.json()).toEqual({ ok: true })
  })

  test('knows what the API knows', async () => {
    const { api, client, url, settle } = await set(bucket(10, 0.01))
    await settle(client(`${url}/orders`))
    await settle(client(`${url}/orders`))
    const [known] = client.limits(`${url}/orders`)
    const [stated] = await api.limits(`${url}/orders`)
    expect(known).toMatchObject({ policy: 'burst', quota: 10, available: 8 })
    expect(stated).toMatchObject({ policy: 'burst', quota: 10, available: 8 })
  })

  test('with two API keys has two quotas, and one does not wait for the other', async () => {
    const { api, client, url, settle } = await set(bucket(2, 0.001))
    const as = (key: string) =>
      client(`${url}/orders`, { headers: { 'x-api-key': key }, rateLimit: { maxWaitSeconds: 1 } })
    for (const key of ['a', 'a', 'b', 'b']) expect((await settle(as(key))).status).toBe(200)
    await expect(settle(as('a'))).rejects.toMatchObject({ name: 'RateLimitError', reason: 'max-wait' })
    expect((await settle(as('c'))).status).toBe(200)
    expect(api.counts()).toEqual({ received: 5, admitted: 5, refused: 0 })
  })

  test('that comes upon an empty bucket is refused at most once', async () => {
    const { api, client, url, settle } = await set(bucket(5, 2))
    await settle(Promise.all(Array.from({ length: 5 }, () => api.fetch(`${url}/orders`))))
    const response = await settle(client(`${url}/orders`))
    expect(response.status).toBe(200)
    expect(api.counts().admitted).toBe(6)
    expect(api.counts().refused).toBeLessThanOrEqual(1)
  })
})

describe('a client that does not mind limits', () => {
  test('is refused, and the API says so', async () => {
    const clock = testClock()
    const api = limitedApi({ policies: [bucket(20, 2)], clock })
    const responses = await Promise.all(
      Array.from({ length: 100 }, () => api.fetch('https://api.example/orders')),
    )
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(80)
    expect(api.counts()).toEqual({ received: 100, admitted: 20, refused: 80 })
  })
})

test('minutes of waiting take no time', async () => {
  const clock: TestClock = testClock()
  const api = limitedApi({ policies: [bucket(5, 0.1)], clock })
  const client = createFetch({ fetch: api.fetch, clock, maxWaitSeconds: 3600 })
  const begin = systemClock.now()
  const calls = Array.from({ length: 65 }, () => client('https://api.example/'))
  await clock.runUntil(Promise.all(calls))
  expect(clock.now()).toBeGreaterThanOrEqual(600_000)
  expect(clock.now()).toBeLessThan(610_000)
  expect(systemClock.now() - begin).toBeLessThan(60_000)
  expect(clock.pending).toBe(0)
})

test('only the addresses given are intercepted', async () => {
  const api = limitedApi({ policies: [bucket(1, 1)] })
  const other = await api.listen()
  onTestFinished(() => other.close())
  const mocked = limitedApi({ policies: [bucket(1, 1)], respond: () => new Response('mocked') })
  const server = setupServer(...limitedHandlers(mocked, 'https://api.example/*'))
  server.listen({ onUnhandledRequest: 'bypass' })
  onTestFinished(() => server.close())
  expect(await (await fetch('https://api.example/a')).text()).toBe('mocked')
  expect(await (await fetch(`${other.url}/a`)).json()).toEqual({ ok: true })
  expect([mocked.counts().received, api.counts().received]).toEqual([1, 1])
})

test('what the answer throws is a failed connection through MSW as well', async () => {
  const api = limitedApi({ policies: [bucket(1, 1)], respond: () => Promise.reject(new Error('cut')) })
  const server = setupServer(...limitedHandlers(api))
  server.listen()
  onTestFinished(() => server.close())
  await expect(fetch('https://api.example/a')).rejects.toThrow(TypeError)
})
