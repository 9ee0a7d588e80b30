import { createFetch } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, respond } from './fake.js'

const url = 'http://api.test/'
const pathOf = (input: unknown): string => new URL(String(input)).pathname.slice(1)
const paths = (sent: readonly { input: unknown }[]): string[] => sent.map(({ input }) => pathOf(input))

/** Each route has a limit of its own; "a" is exhausted for 50 seconds. */
function ownLimits(input: unknown): Record<string, string> {
  const path = pathOf(input)
  const left = path === 'a' ? 'r=0;t=50' : 'r=5;t=50'
  return {
    ratelimit: `"w";${left};pk=:${btoa(path)}:`,
    'ratelimit-policy': `"w";q=10;w=50;pk=:${btoa(path)}:`,
  }
}

/** All routes have one limit. */
const shared = (left: string): Record<string, string> => ({
  ratelimit: `"s";${left}`,
  'ratelimit-policy': '"s";q=10;w=100;ratepact-refill="bucket"',
})

describe('calls on routes with limits of their own', () => {
  it('do not wait behind a call that another limit holds', async () => {
    const { clock, sent, fetch } = fakeServer((_, { input }) => respond(200, ownLimits(input)))
    const api = createFetch({ fetch, clock })
    await api(`${url}a`)
    await api(`${url}c`)
    const held = api(`${url}a`)
    await clock.advance(10)
    expect((await api(`${url}c`, { rateLimit: { maxWaitSeconds: 0 } })).status).toBe(200)
    await api(`${url}new`)
    expect(clock.now()).toBe(10)
    await clock.runUntil(held)
    expect(paths(sent)).toEqual(['a', 'c', 'c', 'new', 'a'])
    expect(clock.pending).toBe(0)
  })

  it('do not wait behind one while a full queue turns others away, and tell no wait that was none', async () => {
    const events: string[] = []
    const { clock, fetch } = fakeServer((_, { input }) => respond(200, ownLimits(input)))
    const onEvent = ({ type }: { type: string }): unknown => events.push(type)
    const api = createFetch({ fetch, clock, maxQueue: 1, onEvent })
    await api(`${url}a`)
    await api(`${url}c`)
    const held = api(`${url}a`)
    await clock.advance(1)
    await expect(api(`${url}a`)).rejects.toMatchObject({ reason: 'queue-full' })
    const before = events.length
    expect((await api(`${url}c`)).status).toBe(200)
    expect(events.slice(before)).not.toContain('waiting')
    expect((await clock.runUntil(held)).status).toBe(200)
  })

  it('do not count for each other in how fast they go', async () => {
    const { clock, sent, fetch } = fakeServer((_, { input }) => respond(200, ownLimits(input)))
    const api = createFetch({ fetch, clock })
    await api(`${url}a`)
    await api(`${url}c`)
    const held = Array.from({ length: 100 }, () => api(`${url}a`).catch(() => {}))
    await clock.advance(1)
    await Promise.all([api(`${url}c`), api(`${url}c`)])
    expect(clock.now()).toBe(1)
    expect(sent).toHaveLength(4)
    await clock.runUntil(Promise.all(held))
  })

  it('leave no timer when the last of them is aborted', async () => {
    const { clock, fetch } = fakeServer((_, { input }) => respond(200, ownLimits(input)))
    const api = createFetch({ fetch, clock })
    await api(`${url}a`)
    await api(`${url}c`)
    const controller = new AbortController()
    const held = expect(api(`${url}a`, { signal: controller.signal })).rejects.toThrow('enough')
    await clock.advance(1)
    controller.abort(new Error('enough'))
    await held
    expect(clock.pending).toBe(0)
  })

  it('go in their order on each route, however many routes there are', async () => {
    const { clock, sent, fetch } = fakeServer((number) => {
      return respond(200, number === 1 ? shared('r=0;t=10') : {})
    })
    const api = createFetch({ fetch, clock, maxWaitSeconds: 100_000 })
    await api(url)
    const wanted = Array.from({ length: 400 }, (_, index) => `r${'x'.repeat(index % 200)}?n=${index}`)
    await clock.runUntil(Promise.all(wanted.map((path) => api(url + path))))
    const asked = sent.slice(1).map(({ input }) => String(input).slice(url.length))
    for (let route = 0; route < 200; route += 1) {
      const own = (list: readonly string[]): string[] =>
        list.filter((path) => path.startsWith(`r${'x'.repeat(route)}?`))
      expect(own(asked)).toEqual(own(wanted))
    }
    expect(asked).toHaveLength(400)
  })
})

describe('calls on routes with one limit', () => {
  it('go in order of arrival and priority', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200, shared('r=0;t=10')))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 10_000 })
    await api(`${url}first`)
    const names = ['a', 'b', 'a', 'c', 'b', 'a']
    const calls = names.map((path) => api(url + path))
    calls.push(api(`${url}high`, { rateLimit: { priority: 1 } }))
    await clock.runUntil(Promise.all(calls))
    expect(paths(sent)).toEqual(['first', 'high', ...names])
  })

  it('do not take piece by piece what one before them waits for', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200, shared('r=2;t=10')))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 10_000 })
    await api(`${url}first`)
    const large = api(`${url}large`, { rateLimit: { cost: 6 } })
    const small = ['a', 'b', 'c'].map((path) => api(url + path))
    await clock.runUntil(Promise.all([large, ...small]))
    expect(paths(sent)).toEqual(['first', 'large', 'a', 'b', 'c'])
  })
})

describe('a process that slept', () => {
  it('does not send a call whose time was up long before', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200, shared('r=0;t=1')))
    const slow = {
      ...clock,
      setTimeout: (run: () => void, ms: number) => clock.setTimeout(run, ms + 5000),
    }
    const api = createFetch({ fetch, clock: slow, maxWaitSeconds: 40 })
    await api(url)
    const { waitSeconds } = api.limits(url)[0] ?? { waitSeconds: 0 }
    const call = api(url, { rateLimit: { maxWaitSeconds: waitSeconds + 1 } })
    await expect(clock.runUntil(call)).rejects.toMatchObject({ reason: 'max-wait' })
    expect(sent).toHaveLength(1)
  })
})
