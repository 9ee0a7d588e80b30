import { type ClientEvent, createFetch, type OutgoingRequest, RateLimitError } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, respond } from './fake.js'

const url = 'http://api.test/'
const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } })
const limitFirst = (_number: number, { init }: { init: RequestInit }): Response =>
  new Headers(init.headers).get('authorization') === 'Bearer one'
    ? respond(429, { 'retry-after': '1000' })
    : respond(200)

describe('partitions', () => {
  it('keep credentials apart: one exhausted, the other flows', async () => {
    const { clock, fetch } = fakeServer(limitFirst)
    const api = createFetch({ fetch, clock })
    await api(url, bearer('one'))
    await expect(api(url, bearer('one'))).rejects.toBeInstanceOf(RateLimitError)
    expect((await api(url, bearer('two'))).status).toBe(200)
    expect((await api(url)).status).toBe(200)
    expect(clock.now()).toBe(0)
  })

  it('keep origins apart, port and scheme included, and join paths', async () => {
    const { clock, fetch } = fakeServer((_number, { input }) =>
      String(input).startsWith('http://api.test/') ? respond(429, { 'retry-after': '1000' }) : respond(200),
    )
    const api = createFetch({ fetch, clock })
    await api(url)
    await expect(api(`${url}other/path`)).rejects.toBeInstanceOf(RateLimitError)
    for (const other of ['https://api.test/', 'http://api.test:8080/', 'http://www.api.test/']) {
      expect((await api(other)).status).toBe(200)
    }
  })

  it('read the credential wherever fetch takes it from', async () => {
    const { clock, fetch } = fakeServer(limitFirst)
    const api = createFetch({ fetch, clock })
    await api(url, bearer('one'))
    const forms: NonNullable<RequestInit['headers']>[] = [
      { Authorization: 'Bearer one' },
      [['AUTHORIZATION', 'Bearer one']],
      new Headers({ authorization: 'Bearer one' }),
    ]
    for (const headers of forms) {
      await expect(api(url, { headers })).rejects.toBeInstanceOf(RateLimitError)
      await expect(api(new Request(url, { headers }))).rejects.toBeInstanceOf(RateLimitError)
    }
    // Headers in init replace those of the Request, as fetch has it.
    expect((await api(new Request(url, bearer('one')), { headers: {} })).status).toBe(200)
  })

  it('can be chosen by the user, who sees url, method and headers', async () => {
    const seen: OutgoingRequest[] = []
    const { clock, fetch } = fakeServer(() => respond(200, { ratelimit: '"a";r=5;t=1' }))
    const api = createFetch({
      fetch,
      clock,
      partition(request) {
        seen.push(request)
        return 'all'
      },
    })
    await api('http://one.test/path?q=1', { method: 'post', headers: { 'X-Test': 'yes' } })
    expect(api.limits('http://two.test/')).toHaveLength(1)
    expect(seen[0]).toMatchObject({ url: 'http://one.test/path?q=1', method: 'POST' })
    expect(seen[0]?.headers.get('x-test')).toBe('yes')
  })

  it('never show a credential, in events or errors', async () => {
    const events: ClientEvent[] = []
    const { clock, fetch } = fakeServer(() =>
      respond(429, { 'retry-after': '1000', ratelimit: 'secret garbage"' }),
    )
    const api = createFetch({ fetch, clock, onEvent: (event) => events.push(event) })
    const init = { headers: { authorization: 'Bearer secret-token', 'x-api-key': 'secret-key' } }
    await api(url, init)
    const error: unknown = await api(url, init).catch((reason) => reason)
    const text = JSON.stringify(events) + String(error) + JSON.stringify(error)
    expect(events.length).toBeGreaterThan(2)
    expect(text).toContain('http://api.test #1')
    expect(text).not.toContain('secret-')
  })

  it('are forgotten when too many are idle, those used least recently first', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, { ratelimit: '"a";r=5;t=1' }))
    const api = createFetch({ fetch, clock })
    await api(url, bearer('first'))
    await api(url, bearer('second'))
    for (let token = 0; token < 998; token += 1) await api(url, bearer(String(token)))
    await api(url, bearer('first'))
    await api(url, bearer('one more'))
    expect(api.limits(url, bearer('second'))).toEqual([])
    expect(api.limits(url, bearer('first'))).toHaveLength(1)
    expect(api.limits(url, bearer('one more'))).toHaveLength(1)
  })

  it('in use are never forgotten, and trimmed once they are not', async () => {
    const { clock, fetch } = fakeServer((number) => respond(200, { ratelimit: `"a";r=${number};t=1` }), 10)
    const api = createFetch({ fetch, clock })
    const knows = (token: number): boolean => api.limits(url, bearer(String(token))).length > 0
    const busy = Array.from({ length: 1500 }, (_, token) => api(url, bearer(String(token))))
    const slow = api(url, bearer('0'))
    await clock.advance(11)
    await Promise.all(busy)
    expect(knows(0)).toBe(true)
    await clock.runUntil(slow)
    expect(Array.from(busy, (_, token) => token).filter(knows)).toHaveLength(1000)
    expect(knows(0)).toBe(true)
    expect(knows(1)).toBe(false)
  })

  it('may be many at once', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, { ratelimit: '"a";r=5;t=1' }))
    const tokens = Array.from({ length: 10_000 }, (_, token) => String(token))
    const api = createFetch({ fetch, clock })
    await Promise.all(tokens.map((token) => api(url, bearer(token))))
    expect(tokens.filter((token) => api.limits(url, bearer(token)).length > 0)).toHaveLength(1000)
  })

  it('that must wait are kept while harmless ones are forgotten, and forgotten when they need not', async () => {
    const { clock, sent, fetch } = fakeServer((_, { init }) => {
      const blocked = new Headers(init.headers).get('authorization') === 'Bearer blocked'
      const ratelimit = '"a";r=5;t=1'
      return blocked ? respond(429, { ratelimit, 'retry-after': '50' }) : respond(200, { ratelimit })
    })
    const api = createFetch({ fetch, clock, maxWaitSeconds: 5 })
    await api(url, bearer('blocked'))
    for (let token = 0; token < 2500; token += 1) await api(url, bearer(String(token)))
    await expect(api(url, bearer('blocked'))).rejects.toMatchObject({ reason: 'max-wait' })
    expect(sent).toHaveLength(2501)
    for (let token = 0; token < 2500; token += 1) await api(url, bearer(String(token)))
    expect(api.limits(url, bearer('blocked'))).toHaveLength(1)
    await clock.advance(200_000)
    await api(url, bearer('one more'))
    expect(api.limits(url, bearer('blocked'))).toHaveLength(0)
  })

  it('that must wait are forgotten too when there are thousands of them, the oldest first', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(429, { 'retry-after': '5000' }))
    const api = createFetch({ fetch, clock, maxAttempts: 1, maxWaitSeconds: 5 })
    for (let token = 0; token <= 10_000; token += 1) await api(url, bearer(String(token)))
    await expect(api(url, bearer('1'))).rejects.toThrow()
    await expect(api(url, bearer('10000'))).rejects.toThrow()
    expect(sent).toHaveLength(10_001)
    expect((await api(url, bearer('0'))).status).toBe(429)
  })

  it('that make no sense fail the call and name the option', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    const wrong = createFetch({ fetch, clock, partition: () => 5 as unknown as string })
    await expect(wrong(url)).rejects.toThrow('Expected partition() to be a string, got 5')
    const broken = createFetch({
      fetch,
      clock,
      route: () => {
        throw new Error('my own fault')
      },
    })
    await expect(broken(url)).rejects.toThrow('my own fault')
    expect(sent).toHaveLength(0)
  })
})

describe('routes', () => {
  const routeOf = async (target: string, method = 'GET'): Promise<string | undefined> => {
    const events: ClientEvent[] = []
    const { fetch, clock } = fakeServer(() => respond(429))
    const api = createFetch({ fetch, clock, maxAttempts: 1, onEvent: (event) => events.push(event) })
    await api(target, { method })
    return events[0]?.route
  }

  it('are method and path, with identifiers folded', async () => {
    const paths = {
      '/orders': '/orders',
      '/orders/17': '/orders/*',
      '/orders/-3/items/4': '/orders/*/items/*',
      '/v1/users/6f1c0ad2-94ff-4a7f-9f5b-0a8d6f8ff1b1': '/v1/users/*',
      '/blobs/9e107d9d372bb6826bd81d3542a419d6': '/blobs/*',
      '/objects/DEADBEE5': '/objects/*',
      '/words/deadbeef': '/words/deadbeef',
      '/facade/cafe': '/facade/cafe',
      '/bot123456:AAE-secret-token/sendMessage': '/*/sendMessage',
      '/bot123456%3AAAE-secret-token/sendMessage': '/*/sendMessage',
      '/services/T00000000/B00000000/x9kUv3mWqYb2LrT8pZs4NcDf': '/services/T00000000/*/*',
      '/webhooks/123456789012345678/aZ3-x_9QkUv3mWqYb2LrT8pZs4N.cDf': '/webhooks/*/*',
      '/users:batchGet/v1beta/oauth2/authorize-application':
        '/users:batchGet/v1beta/oauth2/authorize-application',
      '/v1beta/models/gemini-2.5-flash-lite-preview-06-17:generateContent':
        '/v1beta/models/gemini-2.5-flash-lite-preview-06-17:generateContent',
      '/deployments/text-embedding-3-small/embeddings': '/deployments/text-embedding-3-small/embeddings',
      '/orders/17/?page=2#top': '/orders/*/',
      '/': '/',
    }
    for (const [path, route] of Object.entries(paths)) {
      expect(await routeOf(`http://api.test${path}`)).toBe(`GET ${route}`)
    }
  })

  it('take HEAD for GET, and lower-case methods for what fetch sends', async () => {
    expect(await routeOf(url, 'HEAD')).toBe('GET /')
    expect(await routeOf(url, 'delete')).toBe('DELETE /')
  })
})
