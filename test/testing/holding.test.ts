import { concurrency, createLimiter, leakyBucket, memoryStore, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { limitedApi, testClock } from '@ratepact/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { majors, serve } from '../server/express/helper.js'
import { until } from '../wait.js'

const url = 'https://api.example/orders'
const queue = leakyBucket({ name: 'queue', capacity: 3, leakPerSecond: 0.5 })
const running = concurrency({ name: 'running', limit: 1, leaseSeconds: 30 })

describe('an API that holds calls', () => {
  test('holds them on its clock, and spends no real time on it', async () => {
    const clock = testClock()
    const api = limitedApi({ clock, policies: [queue] })
    const answeredAt: number[] = []
    const calls = Array.from({ length: 3 }, async () => {
      expect((await api.fetch(url)).status).toBe(200)
      answeredAt.push(clock.now())
    })
    await clock.advance(1999)
    expect([answeredAt, clock.pending]).toEqual([[0], 2])
    await clock.runUntil(Promise.all(calls))
    expect([answeredAt, clock.pending]).toEqual([[0, 2000, 4000], 0])
  })

  test('holds those whose units come back in time, where it is told to, and refuses the rest', async () => {
    const clock = testClock()
    const policies = [tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 2 })]
    const api = limitedApi({ clock, policies, hold: 1 })
    const answeredAt: (readonly [ms: number, status: number])[] = []
    const calls = Array.from({ length: 5 }, async () => {
      const { status } = await api.fetch(url)
      answeredAt.push([clock.now(), status])
    })
    await clock.runUntil(Promise.all(calls))
    expect(answeredAt.sort((one, other) => one[0] - other[0] || one[1] - other[1])).toEqual([
      [0, 200],
      [0, 200],
      [0, 429],
      [500, 200],
      [1000, 200],
    ])
    expect(clock.pending).toBe(0)
  })

  test('leaves no wait behind for a call that is given up while it is held', async () => {
    const clock = testClock()
    const api = limitedApi({ clock, policies: [queue] })
    const giveUp = new AbortController()
    await api.fetch(url)
    const held = api.fetch(url, { signal: giveUp.signal })
    await clock.advance(1)
    expect(clock.pending).toBe(1)
    giveUp.abort(new Error('never mind'))
    await expect(held).rejects.toThrow('never mind')
    expect(clock.pending).toBe(0)
  })

  test('keeps the place of a call for longer than a lease of its clock, and gives it back at its end', async () => {
    const clock = testClock()
    const ends: (() => void)[] = []
    const respond = () => new Promise<Response>((resolve) => ends.push(() => resolve(new Response('done'))))
    const api = limitedApi({ clock, policies: [running], respond })
    const first = api.fetch(url)
    await clock.advance(95_000)
    expect((await api.fetch(url)).status).toBe(429)
    ends[0]?.()
    expect(await (await first).text()).toBe('done')
    await clock.advance(0)
    expect([await api.limits(url), clock.pending]).toMatchObject([[{ available: 1 }], 0])
  })

  test('frees the place of an answer that nobody takes after a lease of its clock', async () => {
    const clock = testClock()
    const api = limitedApi({ clock, policies: [running] })
    await api.fetch(url)
    await clock.advance(29_000)
    expect(await api.limits(url)).toMatchObject([{ available: 0 }])
    await clock.advance(31_000)
    expect([await api.limits(url), clock.pending]).toMatchObject([[{ available: 1 }], 0])
  })

  test('does not take the renewing of a place for what a promise waits for', async () => {
    const clock = testClock()
    const respond = () => new Promise<Response>((resolve) => setTimeout(() => resolve(new Response()), 50))
    const api = limitedApi({ clock, policies: [running], respond })
    expect((await clock.runUntil(api.fetch(url))).status).toBe(200)
    expect([clock.now(), clock.pending]).toEqual([0, 0])
  })
})

describe('an adapter given a clock', () => {
  test.each([false, true])('holds by it, the limiter being given: %s', async (given) => {
    const clock = testClock()
    const made = { policies: [queue], store: memoryStore({ clock }) }
    const partition = () => 'one'
    const limit = given
      ? fetchLimit({ limiter: createLimiter(made), clock, partition })
      : fetchLimit({ ...made, clock, partition })
    const handle = limit(() => new Response('done'))
    const calls = Promise.all([1, 2, 3].map(() => handle(new Request(url))))
    await clock.runUntil(calls)
    expect([clock.now(), clock.pending]).toEqual([4000, 0])
  })

  test.each(majors)('holds by it in %s', async (_, express) => {
    const clock = testClock()
    const app = express()
    app.use(expressLimit({ policies: [queue], store: memoryStore({ clock }), clock, partition: () => 'one' }))
    app.get('/', (_request, response) => response.send('done'))
    const { port } = await serve(app)
    const ask = () => fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())
    expect(await ask()).toBe('done')
    let answer: string | undefined
    void ask().then((text) => {
      answer = text
    })
    onTestFinished(() => clock.advance(10_000))
    await until('the second is held', () => clock.pending === 1)
    await clock.advance(1999)
    expect(answer).toBeUndefined()
    await clock.advance(1)
    await until('the second is answered', () => answer === 'done')
  })
})
