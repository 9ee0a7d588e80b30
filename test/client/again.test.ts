import { createServer } from 'node:net'
import {
  type ClientEvent,
  type ClientOptions,
  createFetch,
  exponentialBackoff,
  type RetryOptions,
} from '@ratepact/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeServer, gaps, respond } from './fake.js'
import { type Handler, inTurn, serve, until } from './http.js'

const url = 'http://api.test/'
const backoff = exponentialBackoff({ firstSeconds: 0.02 })
const keyed = { 'Idempotency-Key': 'a-key' }

/** Hangs up on the first calls without an answer. */
const hangUp =
  (times: number): Handler =>
  (_seen, response, number) => {
    if (number <= times) response.destroy()
    else response.end('ok')
  }

describe('a call that gets no answer', () => {
  const retry = { networkErrors: true }

  it('is sent again when asked for, if its method may be repeated', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const server = await serve(hangUp(2))
      const api = createFetch({ backoff, retry })
      expect((await api(server.url, { method })).status).toBe(200)
      expect(server.seen.map((seen) => seen.method)).toEqual([method, method, method])
    }
  })

  it('is not sent again otherwise, since it may have been obeyed, unless it has an Idempotency-Key', async () => {
    for (const method of ['POST', 'PATCH']) {
      const server = await serve(hangUp(1))
      const api = createFetch({ backoff, retry })
      await expect(api(server.url, { method, body: 'x' })).rejects.toBeInstanceOf(TypeError)
      expect(server.seen).toHaveLength(1)
      const second = await serve(hangUp(1))
      expect((await api(second.url, { method, body: 'x', headers: keyed })).status).toBe(200)
      expect(second.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['a-key', 'a-key'])
    }
  })

  it('fails with the error of its last attempt, in the words of fetch', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as { port: number }
    await new Promise((resolve) => closed.close(resolve))
    const events: ClientEvent[] = []
    const api = createFetch({ backoff, retry, onEvent: (event) => events.push(event) })
    await expect(api(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ message: 'fetch failed' })
    expect(events.map(({ type }) => type)).toEqual(['retrying', 'retrying', 'gave-up'])
    expect(events[2]).toMatchObject({ attempts: 3, reason: 'attempts' })
  })

  it('fails with that error too when the time does not suffice for another attempt', async () => {
    const { clock, sent, fetch } = fakeServer((number) => {
      throw new TypeError('fetch failed', { cause: new Error(`reset ${number}`) })
    })
    const slow = { delaySeconds: () => 10 }
    const api = createFetch({ fetch, clock, retry, backoff: slow, maxWaitSeconds: 15 })
    const end = await clock.runUntil(api(url).catch((error: unknown) => error))
    expect(end).toMatchObject({ message: 'fetch failed', cause: { message: 'reset 2' } })
    expect(sent).toHaveLength(2)
    // And when it is found out in the pause.
    const closing = createFetch({ fetch, clock, retry, backoff: slow })
    const refused = expect(closing(url)).rejects.toMatchObject({ cause: { message: 'reset 3' } })
    await clock.advance(1)
    await closing.close()
    await refused
  })

  it('within attemptTimeoutSeconds is one, and each attempt has the whole of that time', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    const slowFirst = async (input: unknown, init?: RequestInit): Promise<Response> => {
      const answer = fetch(input, init)
      if (sent.length === 1) return new Promise(() => {})
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 900))
      return answer
    }
    const api = createFetch({ fetch: slowFirst, clock, backoff, retry, attemptTimeoutSeconds: 1 })
    expect((await clock.runUntil(api(url))).status).toBe(200)
    expect(gaps(sent)[0]).toBeGreaterThanOrEqual(1000)
    expect(clock.pending).toBe(0)
  })

  it('is not sent again when its caller gave up, even by a timeout of its own', async () => {
    const server = await serve(() => {})
    const api = createFetch({ backoff, retry })
    await expect(api(server.url, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    expect(server.seen).toHaveLength(1)
  })

  it('is not sent again when totalTimeoutSeconds is over, however many attempts are left', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 10_000)
    const api = createFetch({
      fetch,
      clock,
      backoff,
      retry,
      maxAttempts: 10,
      attemptTimeoutSeconds: 1,
      totalTimeoutSeconds: 3.5,
    })
    const end = await clock.runUntil(api(url).catch((error: unknown) => error))
    expect(end).toMatchObject({ name: 'RateLimitError', reason: 'deadline' })
    expect(sent).toHaveLength(4)
    expect(clock.now()).toBe(3500)
  })

  it('because a function of the caller failed is not sent again, whatever that fails with', async () => {
    const error = Object.assign(new Error('no such file'), { code: 'ENOENT', cause: new Error('disk') })
    let made = 0
    const fail = (): never => {
      made += 1
      throw error
    }
    const cases: [ClientOptions, RequestInit?][] = [
      [{}, { method: 'PUT', body: fail as never }],
      [{}, { method: 'PUT', body: (async () => fail()) as never }],
      [{ retry: { ...retry, classify: fail } }],
      [{ dialect: { read: fail } }],
    ]
    for (const [options, init] of cases) {
      const { clock, fetch } = fakeServer(() => respond(200))
      const api = createFetch({ fetch, clock, retry, ...options })
      await expect(clock.runUntil(api(url, init))).rejects.toBe(error)
      expect(made).toBe(1)
      made = 0
    }
  })

  it('but something that is no Response fails in words that say so', async () => {
    for (const [answer, shown] of [
      [undefined, 'undefined'],
      [null, 'null'],
      ['ok', '"ok"'],
      [{ status: 200 }, 'an object'],
    ]) {
      const api = createFetch({ fetch: async () => answer as Response, retry })
      await expect(api(url)).rejects.toThrow(`Expected fetch() to be a Response, got ${shown}`)
      expect(api.queue.inFlight).toBe(0)
    }
  })

  it('because it makes no sense is not sent again', async () => {
    const { clock, sent, fetch } = fakeServer(() => {
      throw new TypeError('Invalid header value')
    })
    await expect(createFetch({ fetch, clock, retry })(url)).rejects.toThrow('Invalid header value')
    expect(sent).toHaveLength(1)
  })
})

describe('an Idempotency-Key of the client', () => {
  const retry: RetryOptions = { statuses: [429, 500], idempotencyKey: true, networkErrors: true }

  it('makes a POST that may be sent again, with the same key at each attempt and another for each call', async () => {
    const server = await serve((_seen, response, number) => {
      if (number % 3 === 1) response.destroy()
      else response.writeHead(number % 3 === 2 ? 500 : 200).end()
    })
    const api = createFetch({ backoff, retry })
    for (let call = 0; call < 2; call += 1)
      expect((await api(server.url, { method: 'POST', body: 'x' })).status).toBe(200)
    const keys = server.seen.map(({ headers }) => headers['idempotency-key'])
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys).toEqual([keys[0], keys[0], keys[0], keys[3], keys[3], keys[3]])
    expect(keys[0]).not.toBe(keys[3])
  })

  it('is added to headers in any form, and to nothing that has one or needs none', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    const api = createFetch({ fetch, clock, retry: { idempotencyKey: () => 'mine' } })
    const own: HeadersInit[] = [{ a: '1' }, [['a', '1']], new Headers({ a: '1' })]
    for (const headers of own) await api(url, { method: 'POST', headers })
    await api(new Request(url, { method: 'POST', headers: { a: '1' } }))
    await api(url, { method: 'POST' })
    await api(url, { method: 'POST', headers: { 'IDEMPOTENCY-KEY': 'theirs' } })
    await api(url, { method: 'PUT', headers: { a: '1' } })
    const keys = sent.map(({ init }) => new Headers(init.headers).get('idempotency-key'))
    expect(keys).toEqual(['mine', 'mine', 'mine', 'mine', 'mine', 'theirs', null])
    expect(sent.slice(0, 4).map(({ init }) => new Headers(init.headers).get('a'))).toEqual(Array(4).fill('1'))
    expect(new Headers(own[2]).has('idempotency-key')).toBe(false)
  })

  it('is not sent to another origin from a page, where it would need leave, unless a function says so', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    Object.assign(globalThis, { location: new URL('http://page.test/app') })
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'location'))
    const api = createFetch({ fetch, clock, retry: { idempotencyKey: true } })
    const asked = createFetch({ fetch, clock, retry: { idempotencyKey: () => 'mine' } })
    await api('http://page.test/orders', { method: 'POST' })
    await api(url, { method: 'POST' })
    await asked(url, { method: 'POST' })
    const keys = sent.map(({ init }) => new Headers(init.headers).get('idempotency-key'))
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), null, 'mine'])
  })

  it('that is no string fails the call', async () => {
    const retry = { idempotencyKey: () => 5 } as unknown as RetryOptions
    const { clock, fetch } = fakeServer(() => respond(200))
    const call = createFetch({ fetch, clock, retry })(url, { method: 'POST' })
    await expect(call).rejects.toThrow('Expected retry.idempotencyKey() to be a string')
  })
})

describe('a 503', () => {
  it('that says when to come back did nothing: it is sent again for every method, if asked for', async () => {
    const retry = { statuses: [429, 503] }
    for (const method of ['GET', 'POST', 'PATCH']) {
      const server = await serve(inTurn({ status: 503, headers: { 'retry-after': '1' } }, {}))
      expect((await createFetch({ retry })(server.url, { method })).status).toBe(200)
      expect(gaps(server.seen)[0]).toBeGreaterThanOrEqual(1000)
    }
    const silent = await serve(inTurn({ status: 503 }, {}))
    expect((await createFetch({ backoff, retry })(silent.url, { method: 'POST' })).status).toBe(503)
  })
})

describe('a server that says whether a retry helps', () => {
  for (const field of ['x-should-retry', 'Stripe-Should-Retry']) {
    it(`is obeyed both ways: ${field}`, async () => {
      for (const [status, said, sends] of [
        [429, 'false', 1],
        [429, 'true', 2],
        [409, 'true', 2],
        [500, 'TRUE', 2],
        [409, 'false', 1],
        [409, 'maybe', 1],
        [429, 'maybe', 2],
      ] as const) {
        const server = await serve(inTurn({ status, headers: { [field]: said } }, {}))
        const response = await createFetch({ backoff })(server.url, { method: 'POST', body: 'x' })
        expect([status, said, server.seen.length]).toEqual([status, said, sends])
        expect(response.status).toBe(sends === 1 ? status : 200)
      }
    })
  }

  it('means nothing on a success, and does not lift maxAttempts', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      respond(number === 1 ? 200 : 500, { 'x-should-retry': 'true' }),
    )
    const api = createFetch({ fetch, clock })
    expect((await api(url)).status).toBe(200)
    expect((await clock.runUntil(api(url))).status).toBe(500)
    expect(sent).toHaveLength(4)
  })
})

describe('classify', () => {
  const throttled = JSON.stringify({ errors: [{ extensions: { code: 'THROTTLED' } }] })

  it('finds refusals in a body: a 200 with THROTTLED is sent again, and its partition waits', async () => {
    const classify: RetryOptions['classify'] = async (response, peek) =>
      response.status === 200 && (await peek()).includes('THROTTLED') ? 'limited' : undefined
    const server = await serve(
      inTurn({ body: throttled, headers: { 'retry-after': '1' } }, { body: '{"data":1}' }),
    )
    const events: ClientEvent[] = []
    const api = createFetch({ retry: { classify }, onEvent: (event) => events.push(event) })
    const response = await api(server.url, { method: 'POST', body: '{}' })
    expect(await response.json()).toEqual({ data: 1 })
    expect(server.seen).toHaveLength(2)
    expect(gaps(server.seen)[0]).toBeGreaterThanOrEqual(1000)
    expect(events[0]).toMatchObject({ type: 'refused', status: 200, retryAfterSeconds: 1 })
  })

  it('finds them by header: a 403 with Retry-After holds back the calls beside it', async () => {
    const classify: RetryOptions['classify'] = ({ status, headers }) =>
      status === 403 && headers.has('retry-after') ? 'limited' : undefined
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 2 ? respond(403, { 'retry-after': '60' }) : respond(200),
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 100, retry: { classify } })
    await api(url)
    const responses = await clock.runUntil(Promise.all([1, 2, 3].map(() => api(url))))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    for (const { atMs } of sent.slice(2)) expect(atMs === 0 || atMs >= 60_000).toBe(true)
    expect(sent.at(-1)?.atMs).toBeGreaterThanOrEqual(60_000)
    const denied = createFetch({ fetch: async () => respond(403), clock, retry: { classify } })
    expect((await denied(url)).status).toBe(403)
  })

  it('may also say that a 429 is none, which is then the answer', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(429, { 'retry-after': '1000' }))
    const api = createFetch({ fetch, clock, retry: { classify: () => 'ok' } })
    expect((await api(url)).status).toBe(429)
    expect((await api(url)).status).toBe(429)
    expect(sent).toHaveLength(2)
  })

  it('has no opinion when it returns nothing of the kind of `condition && "limited"`', async () => {
    for (const nothing of [undefined, null, false, '']) {
      const { clock, sent, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200))
      const retry = { classify: async () => nothing } as unknown as RetryOptions
      expect((await clock.runUntil(createFetch({ fetch, clock, retry })(url))).status).toBe(200)
      expect([nothing, sent.length]).toEqual([nothing, 2])
    }
  })

  it('fails its call when it returns anything else', async () => {
    for (const [verdict, shown] of [
      ['Limited', '"Limited"'],
      [true, 'true'],
      [0, '0'],
      [{ limited: true }, 'an object'],
    ]) {
      const { clock, sent, fetch } = fakeServer(() => respond(429))
      const retry = { classify: () => verdict } as unknown as RetryOptions
      const api = createFetch({ fetch, clock, retry })
      await expect(api(url)).rejects.toThrow(
        `Expected retry.classify() to be one of limited, ok, got ${shown}`,
      )
      expect(sent).toHaveLength(1)
      expect(api.queue.inFlight).toBe(0)
    }
  })

  it('leaves the body whole, however large, of which it sees the beginning', async () => {
    for (const body of ['é'.repeat(200_000), 'a'.repeat(3_000_000)]) {
      const server = await serve(inTurn({ body }))
      let seen = ''
      const api = createFetch({
        retry: {
          async classify(_response, peek) {
            seen = await peek()
            return undefined
          },
        },
      })
      expect(await (await api(server.url)).text()).toBe(body)
      expect(body.startsWith(seen.replace(/\uFFFD$/, ''))).toBe(true)
      expect(Buffer.byteLength(seen.replace(/\uFFFD$/, ''))).toBeGreaterThan(30_000)
      expect(Buffer.byteLength(seen.replace(/\uFFFD$/, ''))).toBeLessThanOrEqual(65_536)
    }
  })

  it('does not wait for a body that does not come, nor outlive its call', async () => {
    const server = await serve((_seen, response) => void response.write('the beginning'))
    const seen: string[] = []
    const api = createFetch({
      retry: {
        async classify(_response, peek) {
          seen.push(await peek())
          return undefined
        },
      },
    })
    const controller = new AbortController()
    expect((await api(server.url, { signal: controller.signal })).status).toBe(200)
    expect(seen).toEqual(['the beginning'])
    const aborted = api(server.url, { signal: AbortSignal.timeout(50) })
    await expect(aborted).rejects.toMatchObject({ name: 'TimeoutError' })
    controller.abort()
    await until(() => server.open === 0)
  })

  it('that fails fails its call alone', async () => {
    const { clock, fetch } = fakeServer(() => respond(200))
    let calls = 0
    const api = createFetch({
      fetch,
      clock,
      retry: {
        classify() {
          calls += 1
          if (calls === 1) throw new Error('my own fault')
          return undefined
        },
      },
    })
    await expect(api(url)).rejects.toThrow('my own fault')
    expect((await api(url)).status).toBe(200)
    expect(api.queue).toEqual({ waiting: 0, inFlight: 0, partitions: [] })
  })
})

describe('a service in trouble', () => {
  const retry = { statuses: [429, 500] }
  const hasty = { delaySeconds: () => 0.001 }

  it('is not asked many times as often: retries are a part of the calls', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(500))
    const events: ClientEvent[] = []
    const onEvent = (event: ClientEvent): unknown => event.type === 'gave-up' && events.push(event)
    const api = createFetch({ fetch, clock, retry, backoff: hasty, onEvent })
    for (let call = 0; call < 1000; call += 1) await clock.runUntil(api(url))
    expect(sent.length).toBeGreaterThan(1150)
    expect(sent.length).toBeLessThan(1250)
    expect(events).toContainEqual(expect.objectContaining({ reason: 'budget' }))
  })

  it('gets its retries back within seconds once it is well', async () => {
    let broken = true
    const { clock, sent, fetch } = fakeServer((number) => respond(broken || number % 2 === 0 ? 500 : 200))
    const api = createFetch({ fetch, clock, retry: { ...retry, budget: 0 }, backoff: hasty })
    for (let call = 0; call < 100; call += 1) await clock.runUntil(api(url))
    broken = false
    await clock.advance(10_000)
    const before = sent.length
    for (let call = 0; call < 9; call += 1) {
      expect((await clock.runUntil(api(url))).status).toBe(200)
    }
    expect(sent.length).toBeGreaterThan(before + 10)
  })

  it('does not take the retries of another, and refusals that are paced take none', async () => {
    const { clock, fetch } = fakeServer((number, { input }) => {
      if (String(input).includes('broken')) return respond(500)
      return respond(number % 2 === 1 ? 429 : 200, { 'retry-after': '1' })
    })
    const api = createFetch({ fetch, clock, retry: { ...retry, budget: 0 }, backoff: hasty })
    for (let call = 0; call < 21; call += 1) await clock.runUntil(api('http://broken.test/'))
    for (let call = 0; call < 30; call += 1) expect((await clock.runUntil(api(url))).status).toBe(200)
  })
})

describe('a client around a client', () => {
  it('does not multiply attempts that got no answer, nor those that a server or classify asked for', async () => {
    const server = await serve(hangUp(100))
    const retry: RetryOptions = {
      networkErrors: true,
      classify: ({ status }) => (status === 418 ? 'limited' : undefined),
    }
    const nested = (handle: string): Promise<Response> => {
      const inner = createFetch({ backoff, retry })
      return createFetch({ fetch: createFetch({ fetch: inner, backoff, retry }), backoff, retry })(handle)
    }
    await expect(nested(server.url)).rejects.toBeInstanceOf(TypeError)
    expect(server.seen).toHaveLength(3)
    for (const answer of [{ status: 418 }, { status: 409, headers: { 'x-should-retry': 'true' } }]) {
      const refusing = await serve(inTurn(answer))
      expect((await nested(refusing.url)).status).toBe(answer.status)
      expect(refusing.seen).toHaveLength(3)
    }
  })

  it('does not multiply them either where the outer one looks into the body', async () => {
    const refusing = await serve(inTurn({ status: 429, headers: { 'x-other': '1' } }))
    const retry: RetryOptions = {
      async classify(_response, peek) {
        expect(await peek()).toBe('ok')
        return undefined
      },
    }
    const inner = createFetch({ backoff })
    const outer = createFetch({ fetch: createFetch({ fetch: inner, backoff, retry }), backoff, retry })
    expect((await outer(refusing.url)).status).toBe(429)
    expect(refusing.seen).toHaveLength(3)
  })

  it('that fails with one error object again and again sends each call as often as the first', async () => {
    const error = Object.assign(new TypeError('fetch failed'), { code: 'ECONNRESET' })
    let sends = 0
    const fetch = async (): Promise<Response> => {
      sends += 1
      throw error
    }
    const options = { backoff, retry: { networkErrors: true } }
    const outer = createFetch({ ...options, fetch: createFetch({ ...options, fetch }) })
    for (let call = 1; call <= 3; call += 1) {
      await expect(outer(url)).rejects.toBe(error)
      expect(sends).toBe(3 * call)
    }
  })

  it('beside another call that ends with the same error object does so too', async () => {
    const error = Object.assign(new TypeError('fetch failed'), { code: 'ECONNRESET' })
    const sent: string[] = []
    const fails = new Map<string, () => void>()
    const fetch = (input: string): Promise<Response> => {
      sent.push(input)
      return new Promise((_resolve, reject) => fails.set(input, () => reject(error)))
    }
    const api = createFetch({ fetch, maxAttempts: 2, backoff, retry: { networkErrors: true } })
    const fail = async (call: string, attempts: number): Promise<void> => {
      await until(() => sent.filter((each) => each === call).length === attempts)
      fails.get(call)?.()
    }
    const [one, other] = ['http://one.test/', 'http://other.test/'] as const
    const ended = Promise.allSettled([api(one), api(other)])
    await fail(one, 1)
    await fail(one, 2)
    await until(() => api.queue.inFlight === 1)
    await fail(other, 1)
    await fail(other, 2)
    expect(await ended).toEqual(Array(2).fill({ status: 'rejected', reason: error }))
  })

  it('still does what only the outer one was asked for', async () => {
    const server = await serve(inTurn({ status: 500 }, {}))
    const outer = createFetch({ fetch: createFetch({ backoff }), backoff, retry: { statuses: [500] } })
    expect((await outer(server.url)).status).toBe(200)
  })
})
