import { createFetch, RateLimitError, type RatepactFetch } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, respond } from './fake.js'

const url = 'http://api.test/'
const bucket = '"b";q=10;w=10;ratepact-refill="bucket"'

/** How each of so many calls ended, and when: a status, or the reason of a refusal. */
function outcomes(
  api: RatepactFetch,
  calls: number,
  now: () => number,
  path = '',
): Promise<[unknown, number]>[] {
  return Array.from({ length: calls }, () =>
    api(url + path).then(
      ({ status }) => [status, now()],
      (error: RateLimitError) => [error.reason, now()],
    ),
  )
}

/** A bucket of so many units, of which so many come back per second, as a server counts it. */
function bucketServer(quota: number, perSecond: number, policy: string) {
  let units = quota
  let atMs = 0
  return fakeServer((_, { atMs: nowMs }) => {
    units = Math.min(quota, units + ((nowMs - atMs) * perSecond) / 1000)
    atMs = nowMs
    const status = units >= 1 ? 200 : 429
    if (status === 200) units -= 1
    const t = Math.ceil((1 - (units % 1)) / perSecond)
    return respond(status, { ratelimit: `"b";r=${Math.floor(units)};t=${t}`, 'ratelimit-policy': policy })
  }, 20)
}

describe('a call behind others whose turn cannot come in time', () => {
  it('is refused at once, with the wait until its turn, and those before it go', async () => {
    const { clock, sent, fetch } = fakeServer(() =>
      respond(200, { ratelimit: '"b";r=0;t=1', 'ratelimit-policy': bucket }),
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 25 })
    await api(url)
    const calls = outcomes(api, 50, clock.now)
    const error: unknown = await api(url).catch((cause: unknown) => cause)
    expect(clock.now()).toBe(0)
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ reason: 'max-wait', limits: [{ policy: 'b', quota: 10, available: 0 }] })
    expect((error as RateLimitError).retryAfterSeconds).toBeGreaterThan(25)
    const ends = await clock.runUntil(Promise.all(calls))
    const refused = ends.filter(([end]) => end === 'max-wait')
    expect(refused.filter(([, atMs]) => atMs === 0).length).toBeGreaterThanOrEqual(20)
    expect(sent.length + refused.length).toBe(51)
    expect(clock.pending).toBe(0)
  })

  it('is refused as soon as the first answer tells, though all came before anything was known', async () => {
    const { clock, fetch } = fakeServer(
      () => respond(200, { ratelimit: '"b";r=0;t=1', 'ratelimit-policy': bucket }),
      100,
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 20 })
    const calls = outcomes(api, 100, clock.now)
    await clock.advance(101)
    expect(api.queue.waiting).toBeLessThanOrEqual(30)
    const ends = await clock.runUntil(Promise.all(calls))
    expect(ends.filter(([end, atMs]) => end === 'max-wait' && atMs <= 101).length).toBeGreaterThanOrEqual(65)
  })

  it('is refused on a fixed window too, by the windows that it would have to wait for', async () => {
    const { clock, fetch } = fakeServer(() =>
      respond(200, {
        ratelimit: '"w";r=0;t=60',
        'ratelimit-policy': '"w";q=10;w=60;ratepact-refill="window"',
      }),
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 100 })
    await api(url)
    const waiting = outcomes(api, 10, clock.now)
    await clock.advance(1)
    await expect(api(url)).rejects.toMatchObject({ reason: 'max-wait' })
    expect(api.queue.waiting).toBe(10)
    void api.close()
    await Promise.all(waiting)
  })

  it('is not refused when its priority puts it before those', async () => {
    const { clock, fetch } = fakeServer(() =>
      respond(200, { ratelimit: '"b";r=0;t=1', 'ratelimit-policy': bucket }),
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 25 })
    await api(url)
    const calls = outcomes(api, 24, clock.now)
    const urgent = api(url, { rateLimit: { priority: 1, maxWaitSeconds: 4 } })
    expect((await clock.runUntil(urgent)).status).toBe(200)
    expect(clock.now()).toBeLessThanOrEqual(4000)
    void api.close()
    await Promise.all(calls)
  })

  it('is not refused because of calls that wait for another limit', async () => {
    const { clock, fetch } = fakeServer((_, { input }) => {
      const path = new URL(String(input)).pathname.slice(1)
      const items = {
        ratelimit: `"b";r=0;t=1;pk=:${btoa(path)}:`,
        'ratelimit-policy': `${bucket};pk=:${btoa(path)}:`,
      }
      return respond(200, items)
    })
    const api = createFetch({ fetch, clock, maxWaitSeconds: 25 })
    await api(`${url}a`)
    await api(`${url}c`)
    const calls = outcomes(api, 50, clock.now, 'a')
    expect((await clock.runUntil(api(`${url}c`, { rateLimit: { maxWaitSeconds: 4 } }))).status).toBe(200)
    void api.close()
    await Promise.all(calls)
  })

  it('is refused behind calls on other routes where one limit holds them all', async () => {
    const { clock, fetch } = fakeServer(() =>
      respond(200, { ratelimit: '"b";r=0;t=1', 'ratelimit-policy': bucket }),
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 25 })
    for (const path of ['a', 'b', 'c']) await clock.runUntil(api(url + path))
    const startMs = clock.now()
    const calls = ['a', 'b'].flatMap((path) => outcomes(api, 20, clock.now, path))
    await expect(api(`${url}c`)).rejects.toMatchObject({ reason: 'max-wait' })
    expect(clock.now()).toBe(startMs)
    void api.close()
    await Promise.all(calls)
  })
})

describe('a call behind others whose turn may come in time', () => {
  it('is sent, for each of many queues: nobody is refused who would have got through', async () => {
    // What the server gives in the time that the calls have, less one for the rounding of each instant.
    for (const [quota, perSecond, maxWaitSeconds, policy] of [
      [10, 1, 30, '"b";q=10;w=10;ratepact-refill="bucket"'],
      [5, 5, 10, '"b";q=5;w=1;ratepact-refill="bucket"'],
      [20, 50, 4, '"b";q=20;w=1;ratepact-refill="bucket";ratepact-rate=50.0'],
      [10, 1, 30, '"b";q=10;w=10'],
    ] as const) {
      const { clock, fetch } = bucketServer(quota, perSecond, policy)
      const api = createFetch({ fetch, clock, maxWaitSeconds })
      const fit = Math.floor(quota + perSecond * (maxWaitSeconds - 1)) - 3
      const ends = await clock.runUntil(Promise.all(outcomes(api, fit, clock.now)))
      expect([policy, ends.filter(([end]) => end !== 200)]).toEqual([policy, []])
    }
  })

  it('is not refused because of a block after which a full bucket is there', async () => {
    const { clock, fetch } = fakeServer((number) => {
      const policy = { 'ratelimit-policy': bucket }
      if (number === 2) return respond(429, { ...policy, ratelimit: '"b";r=9;t=1', 'retry-after': '5' })
      return respond(200, { ...policy, ratelimit: '"b";r=9;t=1' })
    })
    const api = createFetch({ fetch, clock, maxWaitSeconds: 14 })
    await clock.runUntil(api(url))
    const ends = await clock.runUntil(Promise.all(outcomes(api, 12, clock.now)))
    expect(ends.map(([end]) => end)).toEqual(Array(12).fill(200))
  })
})

describe('ten thousand calls in a queue', () => {
  it('cost each as much as each of a thousand, whatever their priorities', async () => {
    const looks = async (calls: number): Promise<number> => {
      const { clock, fetch } = fakeServer(() =>
        respond(200, { ratelimit: '"b";r=0;t=1', 'ratelimit-policy': bucket }),
      )
      let count = 0
      const counting = {
        ...clock,
        now(): number {
          count += 1
          return clock.now()
        },
      }
      const api = createFetch({ fetch, clock: counting, maxQueue: 10_000, maxWaitSeconds: 30_000 })
      await api(url)
      count = 0
      const waiting = Array.from({ length: calls }, (_, index) =>
        api(url, { rateLimit: { priority: (index * 7919) % 1000, fairnessKey: String(index % 50) } }).catch(
          () => {},
        ),
      )
      await clock.advance(0)
      expect(api.queue.waiting).toBe(calls)
      void api.close()
      await Promise.all(waiting)
      return count / calls
    }
    expect(await looks(10_000)).toBeLessThan(1.5 * (await looks(1000)))
  })
})
