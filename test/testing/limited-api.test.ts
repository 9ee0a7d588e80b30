import { parseRateLimit, parseRateLimitPolicy } from '@ratepact/contract'
import { memoryStore, tokenBucket } from '@ratepact/server'
import { type LimitedApiOptions, limitedApi, testClock } from '@ratepact/testing'
import { limitedHandlers } from '@ratepact/testing/msw'
import { setupServer } from 'msw/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

const url = 'https://api.example/orders'
const burst = tokenBucket({ name: 'burst', capacity: 3, refillPerSecond: 1 })

/** An API of three calls, and one a second after that, on a clock of its own. */
function threeCalls(options: Partial<LimitedApiOptions> = {}) {
  const clock = testClock()
  return { clock, api: limitedApi({ policies: [burst], clock, ...options }) }
}

function statuses(responses: readonly Response[]): number[] {
  return responses.map(({ status }) => status)
}

describe('a limited API', () => {
  test('admits what its policies grant and refuses the rest, as a server would', async () => {
    const { api } = threeCalls()
    const responses = await Promise.all(Array.from({ length: 5 }, () => api.fetch(url)))
    expect(statuses(responses)).toEqual([200, 200, 200, 429, 429])
    expect(await responses[0]?.json()).toEqual({ ok: true })
    const refusal = responses[3]
    expect(refusal?.headers.get('retry-after')).toBe('1')
    expect(refusal?.headers.get('cache-control')).toBe('no-store')
    expect(refusal?.headers.get('content-type')).toBe('application/problem+json')
    expect(await refusal?.json()).toMatchObject({
      status: 429,
      title: 'Quota Exceeded',
      'violated-policies': ['burst'],
    })
  })

  test('states its limits on every answer, in fields that the contract reads', async () => {
    const { api } = threeCalls()
    const seen: unknown[] = []
    for (let i = 0; i < 4; i += 1) {
      const { headers } = await api.fetch(url)
      const limits = parseRateLimit(headers.get('ratelimit'))
      expect(parseRateLimitPolicy(headers.get('ratelimit-policy'))).toMatchObject({
        status: 'ok',
        items: [{ policy: 'burst', quota: 3, windowSeconds: 3, refill: 'bucket' }],
      })
      if (limits.status === 'ok') seen.push(limits.items[0]?.available)
    }
    expect(seen).toEqual([2, 1, 0, 0])
  })

  test('counts by its clock: what is refused now is admitted when the clock has moved on', async () => {
    const { api, clock } = threeCalls()
    for (let i = 0; i < 3; i += 1) await api.fetch(url)
    await clock.advance(999)
    expect((await api.fetch(url)).status).toBe(429)
    await clock.advance(1)
    expect((await api.fetch(url)).status).toBe(200)
  })

  test('counts the machine’s time when it is given no clock', async () => {
    const api = limitedApi({ policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 100 })] })
    await api.fetch(url)
    await expect.poll(async () => (await api.fetch(url)).status, { interval: 5 }).toBe(200)
  })

  test('keeps the quotas of two credentials apart', async () => {
    const { api } = threeCalls()
    const as = (headers: Record<string, string>) => api.fetch(url, { headers })
    for (let i = 0; i < 3; i += 1) await as({ 'x-api-key': 'a' })
    const others = [
      await as({ 'x-api-key': 'a' }),
      await as({ 'x-api-key': 'b' }),
      await as({ authorization: 'Bearer a' }),
      await as({}),
    ]
    expect(statuses(others)).toEqual([429, 200, 200, 200])
  })

  test('counts for whom and how much it is told', async () => {
    const clock = testClock()
    const api = limitedApi({
      clock,
      policies: [
        tokenBucket({ name: 'calls', capacity: 10, refillPerSecond: 1, by: 'account' }),
        tokenBucket({ name: 'writes', capacity: 2, refillPerSecond: 1, perScope: true }),
      ],
      partition: ({ headers }) => ({
        account: headers.get('account') ?? '',
        client: headers.get('client') ?? '',
      }),
      cost: ({ method }) => ({ calls: method === 'POST' ? 4 : 1, writes: method === 'POST' ? 1 : 0 }),
      scope: ({ url }) => new URL(url).pathname,
    })
    const post = (client: string, path: string) =>
      api.fetch(`https://api.example${path}`, { method: 'POST', headers: { account: 'one', client } })
    expect((await post('a', '/orders')).status).toBe(200)
    expect((await post('b', '/bills')).status).toBe(200)
    const third = await post('a', '/orders')
    expect(await third.json()).toMatchObject({ 'violated-policies': ['calls'] })
    expect(third.headers.get('ratelimit')).toMatch(/^"calls";r=2;.*"writes";r=1;/)
  })

  test('answers what it is told to, and states its limits on that, whatever its head', async () => {
    const headers = new Headers([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-own', 'yes'],
    ])
    const { api } = threeCalls({
      respond: async (request) =>
        new Response(`got ${await request.text()}`, { status: 201, statusText: 'Made', headers }),
    })
    const response = await api.fetch(url, { method: 'POST', body: 'this' })
    expect([response.status, response.statusText, await response.text()]).toEqual([201, 'Made', 'got this'])
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(response.headers.get('x-own')).toBe('yes')
    expect(response.headers.get('ratelimit')).toContain('"burst";r=2')
  })

  test('states its limits on an answer without a body, and none on a redirect', async () => {
    const { api } = threeCalls({
      respond: ({ method }) =>
        method === 'DELETE'
          ? new Response(null, { status: 204 })
          : Response.redirect('https://api.example/', 307),
    })
    expect((await api.fetch(url, { method: 'DELETE' })).headers.has('ratelimit')).toBe(true)
    const redirect = await api.fetch(url)
    expect(redirect.status).toBe(307)
    expect(redirect.headers.has('ratelimit')).toBe(false)
  })

  test('states its limits in the form it is told to, or not at all', async () => {
    const twelve = threeCalls({ headers: { draft: 12, hints: false } }).api
    expect((await twelve.fetch(url)).headers.get('ratelimit')).toBe('"burst";a=2;w=2;c=1')
    const silent = threeCalls({ headers: false }).api
    for (let i = 0; i < 3; i += 1) expect((await silent.fetch(url)).headers.has('ratelimit')).toBe(false)
    const refusal = await silent.fetch(url)
    expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([429, '1'])
  })

  test('fails as a network does when its answer throws, the call being counted', async () => {
    const { api } = threeCalls({ respond: () => Promise.reject(new TypeError('the line is cut')) })
    await expect(api.fetch(url)).rejects.toThrow('the line is cut')
    expect(api.counts()).toEqual({ received: 1, admitted: 1, refused: 0 })
  })

  test('tells what came in, and how many', async () => {
    const { api, clock } = threeCalls()
    await api.fetch(url, { method: 'PUT', headers: { 'x-api-key': 'a' } })
    await clock.advance(50)
    for (let i = 0; i < 4; i += 1) await api.fetch(`${url}/${i}`)
    expect(api.counts()).toEqual({ received: 5, admitted: 4, refused: 1 })
    const [first, second] = api.requests
    expect(first).toMatchObject({ method: 'PUT', url, atMs: 0, admitted: true })
    expect(first?.headers.get('x-api-key')).toBe('a')
    expect(second).toMatchObject({ method: 'GET', url: `${url}/0`, atMs: 50, admitted: true })
    expect(api.requests.map(({ admitted }) => admitted)).toEqual([true, true, true, true, false])
  })

  test('keeps the last ten thousand requests and counts them all', async () => {
    const { api } = threeCalls()
    for (let i = 0; i < 10_100; i += 1) await api.fetch(`${url}/${i}`)
    expect(api.counts().received).toBe(10_100)
    expect(api.requests).toHaveLength(10_000)
    expect(api.requests[0]?.url).toBe(`${url}/100`)
  })

  test('says what the limits of a call are without counting it', async () => {
    const { api } = threeCalls()
    await api.fetch(url)
    for (let i = 0; i < 2; i += 1)
      expect(await api.limits(url)).toMatchObject([{ policy: 'burst', quota: 3, available: 2 }])
    expect(await api.limits(url, { headers: { 'x-api-key': 'b' } })).toMatchObject([{ available: 3 }])
    expect(api.counts().received).toBe(1)
  })

  test('begins afresh when it is reset', async () => {
    const { api } = threeCalls()
    for (let i = 0; i < 4; i += 1) await api.fetch(url)
    api.reset()
    expect([api.counts().received, api.requests.length]).toEqual([0, 0])
    expect((await api.fetch(url)).status).toBe(200)
  })
})

describe('latency', () => {
  test('passes on the clock, half of it before the call is counted', async () => {
    const { api, clock } = threeCalls({ latencySeconds: 0.1 })
    const response = api.fetch(url)
    await clock.advance(49)
    expect(api.counts().received).toBe(0)
    await clock.advance(1)
    expect(api.counts().received).toBe(1)
    expect((await clock.runUntil(response)).status).toBe(200)
    expect([clock.now(), clock.pending]).toEqual([100, 0])
  })

  test('ends at once when the call is given up, and leaves no wait behind', async () => {
    const { api, clock } = threeCalls({ latencySeconds: 10 })
    const giveUp = new AbortController()
    const response = api.fetch(url, { signal: giveUp.signal })
    await clock.advance(1)
    giveUp.abort(new Error('changed my mind'))
    await expect(response).rejects.toThrow('changed my mind')
    expect([clock.pending, api.counts().received]).toEqual([0, 0])
  })

  test('does not begin for a call that was given up before', async () => {
    const { api, clock } = threeCalls()
    await expect(api.fetch(url, { signal: AbortSignal.abort(new Error('never mind')) })).rejects.toThrow(
      'never mind',
    )
    expect([clock.pending, api.counts().received]).toEqual([0, 0])
  })
})

describe('a call that is given up', () => {
  test('ends at once while its answer is being made, and gives up the answer', async () => {
    let cancelled: unknown
    const body = () =>
      new ReadableStream({
        cancel: (reason) => {
          cancelled = { reason }
        },
      })
    let answer = () => {}
    const respond = () =>
      new Promise<Response>((resolve) => {
        answer = () => resolve(new Response(body()))
      })
    const { api } = threeCalls({ respond })
    const giveUp = new AbortController()
    const response = api.fetch(url, { signal: giveUp.signal })
    await expect.poll(() => api.counts().admitted).toBe(1)
    giveUp.abort(new Error('changed my mind'))
    await expect(response).rejects.toThrow('changed my mind')
    answer()
    await expect.poll(() => cancelled).toBeDefined()
  })

  test('leaves no rejection behind when its answer fails after that', async () => {
    let fail = () => {}
    const respond = () =>
      new Promise<Response>((_, reject) => {
        fail = () => reject(new Error('too late'))
      })
    const { api } = threeCalls({ respond })
    const giveUp = new AbortController()
    const response = api.fetch(url, { signal: giveUp.signal })
    await expect.poll(() => api.counts().admitted).toBe(1)
    giveUp.abort('gone')
    await expect(response).rejects.toBe('gone')
    fail()
    expect((await limitedApi({ policies: [burst] }).fetch(url)).status).toBe(200)
  })
})

test('limits rejects, as everything that promises, for what is no address', async () => {
  const { api } = threeCalls()
  const limits = api.limits('nope')
  await expect(limits).rejects.toThrow(TypeError)
})

describe('a mistake in a function of the options', () => {
  const bug = new TypeError('my bug')
  const mistakes = {
    partition: () => {
      throw bug
    },
    cost: () => {
      throw bug
    },
    scope: () => {
      throw bug
    },
  }
  const perScope = tokenBucket({ name: 'burst', capacity: 3, refillPerSecond: 1, perScope: true })

  describe.each(Object.entries(mistakes))('%s', (name, mistake) => {
    const broken = () => limitedApi({ policies: [perScope], [name]: mistake })

    test('is what fetch rejects with', async () => {
      await expect(broken().fetch(url)).rejects.toBe(bug)
    })

    test('is reported by MSW, and answered with a 500 that names it', async () => {
      const server = setupServer(...limitedHandlers(broken()))
      server.listen()
      onTestFinished(() => server.close())
      const seen: unknown[] = []
      server.events.on('unhandledException', ({ error }) => seen.push(error))
      const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
      onTestFinished(() => printed.mockRestore())
      const response = await fetch(url)
      expect([response.status, await response.json()]).toMatchObject([500, { message: 'my bug' }])
      expect(seen).toEqual([bug])
      expect(String(printed.mock.calls)).toContain('my bug')
    })

    test('is answered with a 500 that names it by the API that listens', async () => {
      const server = await broken().listen()
      onTestFinished(() => server.close())
      const response = await fetch(server.url)
      expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('my bug')])
    })
  })

  test('is not what respond throws: that is a failed connection by every way', async () => {
    const { api } = threeCalls({
      respond: () => {
        throw new Error('cut')
      },
    })
    const listening = await api.listen()
    onTestFinished(() => listening.close())
    await expect(fetch(listening.url)).rejects.toThrow('fetch failed')
    const server = setupServer(...limitedHandlers(api))
    server.listen()
    onTestFinished(() => server.close())
    const seen: unknown[] = []
    server.events.on('unhandledException', ({ error }) => seen.push(error))
    await expect(fetch(url)).rejects.toThrow(/failed to fetch|fetch failed/i)
    expect(seen).toEqual([])
  })
})

describe('wrong use is told at once, by option, value and rule', () => {
  const account = tokenBucket({ name: 'calls', capacity: 1, refillPerSecond: 1, by: 'account' })
  test.each<[string, object | null | undefined, string]>([
    ['no options', undefined, 'Expected limitedApi to be an object, got undefined'],
    [
      'a misspelt option',
      { policies: [burst], latencyMs: 5 },
      'Unknown option "latencyMs" of limitedApi; it takes policies',
    ],
    ['no policies', {}, 'Expected policies to be'],
    [
      'a policy of one’s own make',
      { policies: [{ name: 'burst' }], partition: () => 'a' },
      'made by a builder',
    ],
    ['two policies of one name', { policies: [burst, burst] }, 'a name of its own, got "burst" twice'],
    [
      'a latency that is none',
      { policies: [burst], latencySeconds: Number.NaN },
      'Expected latencySeconds to be a number from 0 to 3600, got NaN',
    ],
    ['a latency that is a text', { policies: [burst], latencySeconds: '5' }, 'got "5"'],
    [
      'half a clock',
      { policies: [burst], clock: { now: () => 0 } },
      'Expected clock to be a clock with now, setTimeout and clearTimeout',
    ],
    [
      'an answer that is no function',
      { policies: [burst], respond: new Response() },
      'Expected respond to be a function, got an object',
    ],
    [
      'a partition that is no function',
      { policies: [burst], partition: 'a' },
      'Expected partition to be a function, got "a"',
    ],
    ['kinds that the default cannot tell', { policies: [account] }, 'since a policy counts by "account"'],
    ['headers of an unknown draft', { policies: [burst], headers: { draft: 3 } }, 'headers.draft'],
    ['a store', { policies: [burst], store: memoryStore() }, 'Unknown option "store"'],
  ])('%s', (_, options, message) => {
    expect(() => limitedApi(options as never)).toThrow(message)
  })

  test('and by the compiler where it can', () => {
    const policies = [burst] as const
    // @ts-expect-error no policy of that name
    limitedApi({ policies, cost: () => ({ bursts: 1 }) })
    // @ts-expect-error no policy counts by account
    limitedApi({ policies, partition: () => ({ account: 'a' }) })
    expect(
      limitedApi({ policies, cost: () => ({ burst: 1 }), partition: () => ({ client: 'a' }) }),
    ).toBeDefined()
  })
})
