import { type CallOptions, createFetch } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, respond } from './fake.js'

const url = 'http://api.test/'
const exhausted = { ratelimit: '"a";r=0;t=1', 'ratelimit-policy': '"a";q=10;w=10;ratepact-refill="bucket"' }
const names = (sent: readonly { input: unknown }[]): string[] =>
  sent.map(({ input }) => new URL(String(input)).pathname.slice(1))

function client() {
  const server = fakeServer(() => respond(200, exhausted))
  const api = createFetch({ fetch: server.fetch, clock: server.clock, maxWaitSeconds: 10_000 })
  const call = (fairnessKey: string, options: CallOptions = {}): Promise<Response> =>
    api(url + fairnessKey, { rateLimit: { fairnessKey, ...options } })
  return { ...server, api, call }
}

describe('calls with a fairness key', () => {
  it('take turns by key: one with many does not hold up another with few', async () => {
    const { clock, sent, api, call } = client()
    await api(`${url}first`)
    const many = Array.from({ length: 20 }, () => call('many'))
    const few = [call('few'), call('few'), call('one')]
    await clock.runUntil(Promise.all([...many, ...few]))
    const order = names(sent).slice(1)
    expect(order.slice(0, 5).sort()).toEqual(['few', 'few', 'many', 'many', 'one'])
    expect(order.slice(5)).toEqual(Array(18).fill('many'))
  })

  it('take turns though one of them asks only after each answer', async () => {
    const { clock, sent, api, call } = client()
    await api(`${url}first`)
    const many = Array.from({ length: 20 }, () => call('many'))
    const serial = (async () => {
      for (let turn = 0; turn < 5; turn += 1) await call('serial')
    })()
    await clock.runUntil(Promise.all([...many, serial]))
    const order = names(sent).slice(1)
    const places = order.flatMap((name, index) => (name === 'serial' ? [index] : []))
    expect(places.at(-1)).toBeLessThanOrEqual(12)
    // And it does not starve the other.
    for (const place of places.slice(1)) expect(order[place - 1]).toBe('many')
  })

  it('share what is there by cost, not by calls', async () => {
    const { clock, sent, api, call } = client()
    await api(`${url}first`)
    const dear = Array.from({ length: 10 }, () => call('dear', { cost: 4 }))
    const cheap = Array.from({ length: 20 }, () => call('cheap'))
    await clock.runUntil(Promise.all([...dear, ...cheap]))
    const order = names(sent).slice(1, 21)
    expect(order.filter((name) => name === 'cheap').length).toBeGreaterThanOrEqual(14)
  })

  it('give way to a higher priority, whoever has it', async () => {
    const { clock, sent, api, call } = client()
    await api(`${url}first`)
    const urgent = { rateLimit: { fairnessKey: 'a', priority: 1 } }
    const calls = [call('a'), call('b'), call('a'), api(`${url}urgent`, urgent)]
    await clock.runUntil(Promise.all(calls))
    expect(names(sent)).toEqual(['first', 'urgent', 'a', 'b', 'a'])
  })

  it('are not owed for calls that left the queue', async () => {
    const { clock, sent, api, call } = client()
    await api(`${url}first`)
    const controller = new AbortController()
    const left = Array.from({ length: 20 }, () =>
      api(`${url}a`, { signal: controller.signal, rateLimit: { fairnessKey: 'a' } }).catch(() => {}),
    )
    const others = Array.from({ length: 10 }, () => call('b'))
    await clock.advance(1)
    controller.abort()
    await Promise.all(left)
    await clock.runUntil(Promise.all([...others, call('a')]))
    expect(names(sent).indexOf('a')).toBeLessThanOrEqual(3)
  })
})

it('calls without a fairness key go in order of arrival, a refused one at the head', async () => {
  const { clock, sent, fetch } = fakeServer((number) => respond(number === 2 ? 429 : 200, exhausted))
  const api = createFetch({ fetch, clock, maxWaitSeconds: 10_000 })
  await api(`${url}0`)
  await clock.runUntil(Promise.all(['1', '2', '3'].map((path) => api(url + path))))
  expect(names(sent)).toEqual(['0', '1', '1', '2', '3'])
})
