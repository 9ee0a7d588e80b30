import { Readable, Writable } from 'node:stream'
import { type ClientEvent, createFetch, RateLimitError } from '@ratepact/client'
import { dialects } from '@ratepact/client/dialects'
import { type Pacing, type PacingOptions, pace, withRateLimit } from '@ratepact/client/undici'
import { Agent, Client, type Dispatcher, FormData, fetch, interceptors, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { inTurn, serve, until } from './http.js'

type Options = PacingOptions

function start(options: Options = {}, ...more: Dispatcher.DispatcherComposeInterceptor[]) {
  const events: ClientEvent[] = []
  const pacing: Pacing = pace({ onEvent: (event) => events.push(event), ...options })
  const agent = new Agent()
  onTestFinished(async () => {
    await pacing.close()
    await agent.destroy()
  })
  const dispatcher = agent.compose(...more, pacing)
  const told = (type: ClientEvent['type']) => events.filter((event) => event.type === type)
  return { pacing, agent, dispatcher, told }
}

async function call(dispatcher: Dispatcher, url: string, options: object = {}) {
  const { statusCode, body } = await request(url, { dispatcher, ...options })
  return { status: statusCode, text: await body.text() }
}

const post = (body: unknown, more: object = {}) => ({ method: 'POST', body, ...more })
const refusal = { status: 429, headers: { 'retry-after': '1', 'content-type': 'text/plain' }, body: 'no' }
/** A refusal of a few milliseconds, by our own hints. */
const short = {
  ...{ status: 429, body: 'no' },
  headers: { 'retry-after': '1', 'retry-after-ms': '30', ratelimit: '"a";r=0;t=1;ratepact-t-ms=30' },
}
const ok = { status: 200, text: 'ok' }

describe('The interceptor', () => {
  it('leaves nothing of its own on the headers of a refusal that it returns', async () => {
    const server = await serve(inTurn(refusal))
    const { dispatcher } = start({ maxAttempts: 1 })
    const { headers, body } = await request(server.url, { dispatcher })
    await body.dump()
    expect(Reflect.ownKeys(headers).filter((key) => typeof key !== 'string')).toEqual([])
    expect(new Headers(headers as HeadersInit).get('retry-after')).toBe('1')
  })

  it('paces calls by what their answers state, so that none is refused', async () => {
    let [units, atMs] = [5, performance.now()]
    const statuses: number[] = []
    const server = await serve((seen, response) => {
      units = Math.min(5, units + (seen.atMs - atMs) / 50)
      atMs = seen.atMs
      const status = units >= 1 ? 200 : 429
      if (status === 200) units -= 1
      const left = Math.floor(units)
      const policy = '"burst";q=5;w=1;ratepact-refill="bucket";ratepact-rate=20'
      const limit = `"burst";r=${left};t=1;ratepact-t-ms=${left === 0 ? 50 : left * 50}`
      statuses.push(status)
      response.writeHead(status, { 'ratelimit-policy': policy, ratelimit: limit }).end('ok')
    })
    const { dispatcher, pacing, told } = start()
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(dispatcher, server.url)))
    expect(answers).toEqual(Array(20).fill(ok))
    expect(statuses).toEqual(Array(20).fill(200))
    expect(pacing.limits(server.url)).toMatchObject([{ policy: 'burst', quota: 5 }])
    expect(pacing.queue).toEqual({ waiting: 0, inFlight: 0, partitions: [] })
    expect(told('answered')).toHaveLength(20)
  })

  it('sends a refusal again, with its body and fields, and never before it may', async () => {
    const form = new FormData()
    form.set('a', 'b')
    const bodies = ['text', Buffer.from('bytes'), new Uint8Array([97]), form, null]
    for (const body of bodies) {
      const server = await serve(inTurn(short, {}))
      const { dispatcher, told } = start()
      expect(await call(dispatcher, server.url, post(body, { headers: { 'x-a': 'b' } }))).toEqual(ok)
      const [first, second] = server.seen
      expect(second?.body.length).toBe(first?.body.length)
      expect(second?.headers['x-a']).toBe('b')
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(29)
      expect(told('retrying')).toMatchObject([{ status: 429, attempt: 2 }])
    }
  })

  it.each<readonly [string, () => unknown]>([
    ['a stream', () => Readable.from(['a', 'b'])],
    [
      'an iterator',
      async function* () {
        yield 'ab'
      },
    ],
  ])('gives the refusal of %s back, since it can be read once', async (_what, make) => {
    const server = await serve(inTurn(refusal))
    const { dispatcher, told } = start()
    const body = typeof make === 'function' ? make() : make
    expect(await call(dispatcher, server.url, post(body))).toEqual({ status: 429, text: 'no' })
    expect(server.seen.map(({ body }) => body.toString())).toEqual(['ab'])
    expect(told('gave-up')).toMatchObject([{ reason: 'body' }])
  })

  it('gives a refusal back whole when its wait cannot fit', async () => {
    const server = await serve(inTurn({ ...refusal, body: 'x'.repeat(200_000) }))
    const { dispatcher } = start({ maxWaitSeconds: 0.5 })
    expect(await call(dispatcher, server.url)).toEqual({ status: 429, text: 'x'.repeat(200_000) })
    await expect(call(dispatcher, server.url)).rejects.toMatchObject({
      name: 'RateLimitError',
      reason: 'max-wait',
    })
    expect(server.seen).toHaveLength(1)
  })

  it('gives up after maxAttempts with the last refusal', async () => {
    const server = await serve(inTurn(short))
    const { dispatcher } = start({ maxAttempts: 2 })
    expect(await call(dispatcher, server.url)).toEqual({ status: 429, text: 'no' })
    expect(server.seen).toHaveLength(2)
  })

  it('goes back to the refusal that it kept when another turn cannot come in time', async () => {
    const server = await serve((_seen, response, number) => {
      if (number === 1) return void response.end('ok')
      if (number === 2) {
        response.writeHead(429, { 'retry-after': '1' }).write('fir')
        setTimeout(() => response.end('st'), 300)
      } else setTimeout(() => response.writeHead(429, { 'retry-after': '60' }).end('later'), 100)
    })
    const { dispatcher, told } = start({ maxWaitSeconds: 3 })
    await call(dispatcher, server.url)
    const first = call(dispatcher, server.url)
    const second = call(dispatcher, server.url)
    expect(await Promise.all([first, second])).toEqual([
      { status: 429, text: 'first' },
      { status: 429, text: 'later' },
    ])
    expect(server.seen).toHaveLength(3)
    expect(told('gave-up')).toHaveLength(2)
  })

  it('cuts off what a refusal says without end', async () => {
    const server = await serve((_seen, response, number) => {
      if (number > 1) return void response.end('ok')
      response.writeHead(429, short.headers)
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(more))
      }
      more()
    })
    const { dispatcher } = start()
    expect(await call(dispatcher, server.url)).toEqual(ok)
    await until(() => server.open === 0)
  })

  it('reads a short refusal to its end, and so keeps the connection', async () => {
    const server = await serve(inTurn(short, {}))
    const { dispatcher } = start()
    await call(dispatcher, server.url)
    await call(dispatcher, server.url)
    expect(server.connections).toBe(1)
  })

  it('takes what a call says of itself, and an API of its own dialect', async () => {
    const server = await serve(
      inTurn({ headers: { 'x-ratelimit-remaining-long': '3', 'x-ratelimit-limit-long': '9' } }),
    )
    const { dispatcher, pacing } = start({ dialect: dialects() })
    await call(dispatcher, server.url)
    expect(pacing.limits(server.url)).toMatchObject([{ policy: 'long', quota: 9, available: 3 }])
    await call(dispatcher, server.url, { rateLimit: { cost: 2 } })
    const wrong = call(dispatcher, server.url, { rateLimit: { cost: -1 } })
    await expect(wrong).rejects.toThrow('Expected rateLimit.cost to be a whole number')
  })

  it('takes nothing for a field that every object has', async () => {
    const all = { 'x-ratelimit-remaining-constructor': '3', 'retry-after-constructor': '3' }
    const acme = { name: 'acme', limits: [{ name: 'a', left: 'constructor', reset: '__proto__' }] }
    for (const dialect of [dialects(), dialects([acme])]) {
      const server = await serve(inTurn({ headers: all }))
      expect(await call(start({ dialect }).dispatcher, server.url)).toEqual(ok)
    }
  })

  it('gives a key to calls that may not be repeated, one for all attempts, and tells of itself', async () => {
    const server = await serve(inTurn({ status: 500 }, {}))
    const { dispatcher } = start({ tellInstance: true, retry: { statuses: [500], idempotencyKey: true } })
    for (const headers of [['x-a', 'b'], { 'x-a': ['b'] }, new Map([['x-a', 'b']])])
      expect((await call(dispatcher, server.url, post('a', { headers }))).status).toBe(200)
    const keys = server.seen.map(({ headers }) => headers['idempotency-key'])
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[1]).toBe(keys[0])
    expect(new Set(keys).size).toBe(3)
    expect(server.seen.every(({ headers }) => headers['x-a'] === 'b')).toBe(true)
    expect(new Set(server.seen.map(({ headers }) => headers['ratepact-instance'])).size).toBe(1)
  })

  it('keeps credentials apart', async () => {
    const server = await serve((seen, response) => {
      if (seen.headers.authorization === 'a') response.writeHead(429, refusal.headers)
      response.end('ok')
    })
    const { dispatcher } = start({ maxWaitSeconds: 0.2 })
    expect((await call(dispatcher, server.url, { headers: ['authorization', 'a'] })).status).toBe(429)
    await expect(call(dispatcher, server.url, { headers: { Authorization: 'a' } })).rejects.toThrow(
      RateLimitError,
    )
    expect((await call(dispatcher, server.url, { headers: { authorization: 'b' } })).status).toBe(200)
  })
})

/** Counts what a handler hears. */
function listener() {
  const heard: string[] = []
  let body = ''
  let done: () => void
  const ended = new Promise<void>((resolve) => {
    done = resolve
  })
  const end = (what: string): void => {
    heard.push(what)
    done()
  }
  return {
    heard,
    ended,
    get body() {
      return body
    },
    handler: {
      onRequestStart: () => heard.push('start'),
      onResponseStart: (_controller: unknown, status: number) => heard.push(`answer ${status}`),
      onResponseData: (_controller: unknown, chunk: Buffer) => {
        body += chunk
      },
      onResponseEnd: () => end('end'),
      onResponseError: (_controller: unknown, error: Error) => end(`error ${error.name}`),
    } as unknown as Dispatcher.DispatchHandler,
    old: {
      onConnect: () => heard.push('start'),
      onHeaders: (status: number) => heard.push(`answer ${status}`) > 0,
      onData: (chunk: Buffer) => {
        body += chunk
        return true
      },
      onComplete: () => end('end'),
      onError: (error: Error) => end(`error ${error.name}`),
    } as unknown as Dispatcher.DispatchHandler,
  }
}

describe('A handler hears once of each', () => {
  // undici 8 has the new kind alone.
  const kinds = process.env.PEERS === 'newest' ? (['handler'] as const) : (['handler', 'old'] as const)
  describe.each(kinds)('as %s', (kind) => {
    const options = (url: string) => ({ origin: url, path: '/', method: 'GET' }) as const

    it('of an answer after refusals', async () => {
      const server = await serve(inTurn(short, short, {}))
      const { dispatcher } = start()
      const all = listener()
      expect(dispatcher.dispatch(options(server.url), all[kind])).toEqual(expect.any(Boolean))
      await all.ended
      expect(all.heard).toEqual(['start', 'answer 200', 'end'])
      expect(all.body).toBe('ok')
    })

    it('of a refusal that stays', async () => {
      const server = await serve(inTurn(short))
      const { dispatcher } = start({ maxAttempts: 2 })
      const all = listener()
      dispatcher.dispatch(options(server.url), all[kind])
      await all.ended
      expect(all.heard).toEqual(['start', 'answer 429', 'end'])
      expect(all.body).toBe('no')
    })

    it('of a failure, before and within the body', async () => {
      const server = await serve((_seen, response, number) => {
        if (number === 1) return void response.destroy()
        response.writeHead(200, { 'content-length': '10' }).write('half')
        setTimeout(() => response.destroy(), 20)
      })
      const { dispatcher } = start()
      for (const heard of [
        ['start', 'error SocketError'],
        ['start', 'answer 200', 'error SocketError'],
      ]) {
        const all = listener()
        dispatcher.dispatch(options(server.url), all[kind])
        await all.ended
        expect(all.heard).toEqual(heard)
      }
    })

    it('of being closed', async () => {
      const { dispatcher, pacing } = start()
      await pacing.close()
      const all = listener()
      dispatcher.dispatch(options('http://127.0.0.1:1'), all[kind])
      await all.ended
      expect(all.heard).toEqual(['error RateLimitError'])
    })
  })

  it('and what it throws ends its own call alone', async () => {
    const server = await serve(inTurn({}))
    const { dispatcher, pacing } = start()
    for (const name of ['onRequestStart', 'onResponseStart', 'onResponseData'] as const) {
      const all = listener()
      const throws = (): never => {
        throw new TypeError('mine')
      }
      dispatcher.dispatch(
        { origin: server.url, path: '/', method: 'GET' },
        { ...all.handler, [name]: throws },
      )
      await all.ended
      expect(all.heard.at(-1)).toBe('error TypeError')
    }
    expect(pacing.queue.inFlight).toBe(0)
    expect(await call(dispatcher, server.url)).toEqual(ok)
  })
})

describe('A handler hears as from undici itself', () => {
  type Step = 'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd'
  const steps: readonly Step[] = ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd']
  const acts: Record<string, (controller: Dispatcher.DispatchController) => void> = {
    throws: () => {
      throw new TypeError('mine')
    },
    aborts: (controller) => controller.abort(new TypeError('mine')),
    pauses: (controller) => controller.pause(),
    'pauses and resumes': (controller) => {
      controller.pause()
      controller.resume()
    },
  }

  /** What a handler hears that does so at that step; of a pause, what it hears before and after it. */
  async function heardBy(dispatcher: Dispatcher, url: string, step: Step, act: string, later: () => unknown) {
    const { handler, heard, ended } = listener()
    let held: Dispatcher.DispatchController | undefined
    const given = handler as Record<string, (...given: unknown[]) => void>
    const does = (controller: Dispatcher.DispatchController, ...more: unknown[]): void => {
      held = controller
      given[step]?.(controller, ...more)
      acts[act]?.(controller)
    }
    given.onResponseData = () => void heard.push('data')
    dispatcher.dispatch({ origin: url, path: '/', method: 'GET' }, { ...given, [step]: does })
    await later()
    if (act === 'pauses' && step !== 'onResponseEnd') {
      await until(() => held !== undefined && (step === 'onRequestStart' || heard.length > 1))
      // Whatever is still to come has the time of a call to come.
      for (let number = 0; number < 3; number += 1) await (await request(url)).body.dump()
      heard.push(`paused ${held?.paused}`)
      held?.resume()
    }
    await ended
    return heard
  }

  describe.each(Object.keys(acts))('one that %s', (act) => {
    it.each(steps)('in %s', async (step) => {
      const server = await serve(inTurn({ ...refusal, headers: { 'retry-after': '30' } }))
      const plain = new Agent()
      onTestFinished(() => plain.destroy())
      const own = await heardBy(plain, server.url, step, act, () => {})
      const through = await heardBy(start({ maxAttempts: 1 }).dispatcher, server.url, step, act, () => {})
      const { dispatcher, pacing } = start()
      const givenBack = await heardBy(dispatcher, server.url, step, act, async () => {
        const { length } = server.seen
        // One that ends in its beginning is not sent.
        await until(() => pacing.queue.waiting === 1 || pacing.queue.inFlight === 0)
        if (server.seen.length >= length) await pacing.close()
      })
      expect({ through, givenBack }).toEqual({ through: own, givenBack: own })
    })
  })

  it('when a function of its client’s options fails on the answer', async () => {
    const server = await serve(inTurn({ status: 429 }))
    const fails = (): never => {
      throw new TypeError('mine')
    }
    const dialect = { read: fails }
    for (const options of [{ dialect }, { backoff: { delaySeconds: fails } }]) {
      const { dispatcher, pacing } = start(options)
      await expect(call(dispatcher, `${server.url}/`)).rejects.toThrow('mine')
      expect(pacing.queue.inFlight).toBe(0)
    }
  })
})

describe('What is sent', () => {
  const forms: readonly (readonly [string, () => unknown])[] = [
    ['none', () => undefined],
    ['null', () => null],
    [
      'an object',
      () => ({ 'X-Case': 'v', 'x-list': ['1', '2'], 'x-null': null, 'x-not': undefined, 'x-n': 7 }),
    ],
    ['names and values', () => ['Cookie', 'a=1', 'cookie', 'b=2', 'X-Case', 'v', 'x-m', '1', 'x-m', '2']],
    ['names and lists', () => ['X-Case', ['1', '2']]],
    ['a Map', () => new Map([['X-Case', 'v']])],
    ['Headers', () => new Headers([['X-Case', 'v']])],
    [
      'a generator',
      function* () {
        yield ['X-Case', 'v']
        yield ['X-Case', 'w']
      },
    ],
    ['latin', () => ({ 'x-latin': 'é' })],
    ['a host', () => ({ host: 'example.org', connection: 'close' })],
    ['beyond latin', () => ({ 'x-uni': '€' })],
    ['a bad name', () => ({ 'bad name': 'x' })],
    ['a line break', () => ({ 'x-nl': 'a\nb' })],
    ['an odd list', () => ['odd']],
    ['pairs', () => [['a', 'b']]],
    ['triples', () => new Set([['a', 'b', 'c']])],
    ['a text', () => 'text'],
    ['bytes', () => ({ 'x-buf': Buffer.from('hi') })],
    ['a symbol', () => ({ 'x-symbol': Symbol('q') })],
    ['a thing without text', () => ({ 'x-thing': Object.create(null) })],
    ['a length that is wrong', () => ({ 'content-length': '3' })],
    ['a length twice', () => ['content-length', '1', 'Content-Length', '1']],
    ['what undici sets', () => ({ 'transfer-encoding': 'chunked' })],
  ]
  it.each(forms)('of fields given as %s is what undici would send or refuse', async (_what, make) => {
    const server = await serve(inTurn({}))
    const plain = new Agent()
    onTestFinished(() => plain.destroy())
    const options = { tellInstance: true, retry: { idempotencyKey: true } } as const
    const ended: unknown[] = []
    for (const dispatcher of [plain, start().dispatcher, start(options).dispatcher]) {
      const given = post('a', { headers: make() })
      const error = await call(dispatcher, server.url, given).then(
        () => undefined,
        ({ name, message }: Error) => `${name} ${message}`,
      )
      const own = /^(ratepact-instance|idempotency-key)$/i
      const raw = error === undefined ? (server.seen.at(-1)?.raw ?? []) : []
      ended.push({ error, raw: raw.filter((_each, at) => !own.test(raw[at - (at % 2)] ?? '')) })
      if (dispatcher !== plain && error === undefined)
        expect(raw.filter((each) => own.test(each))).toHaveLength(ended.length === 3 ? 2 : 0)
    }
    expect(ended).toEqual([ended[0], ended[0], ended[0]])
  })

  it('is what was given at the call, though it waits and is sent again', async () => {
    const server = await serve(inTurn(short, {}))
    const { dispatcher } = start()
    for (const headers of [
      { authorization: 'a' },
      ['authorization', 'a'],
      new Map([['authorization', 'a']]),
    ]) {
      const options = { origin: server.url, path: '/a', method: 'GET', headers } as Dispatcher.RequestOptions
      const answer = dispatcher.request(options)
      options.path = '/b'
      if (headers instanceof Map) headers.set('authorization', 'b')
      else Object.assign(headers, Array.isArray(headers) ? { 1: 'b' } : { authorization: 'b' })
      expect((await answer).statusCode).toBe(200)
    }
    const sent = server.seen.map(({ path, headers }) => [path, headers.authorization])
    expect(sent).toEqual(Array(4).fill(['/a', 'a']))
  })

  it.each([
    ['/a//b', '/a//b'],
    ['//other.example/x', '//other.example/x'],
    ['/\\other.example/x', '//other.example/x'],
    ['/@other.example/x', '/@other.example/x'],
    ['http://other.example/x?y', '/x?y'],
  ])('to a path of %s belongs to the origin that it is sent to', async (path, shown) => {
    const server = await serve(inTurn(short, {}))
    const seen: string[] = []
    const { dispatcher, pacing } = start({
      route: ({ url }) => {
        seen.push(url)
        return ''
      },
      onEvent: ({ partition }) => seen.push(partition),
    })
    for (const origin of [server.url, `${server.url}/`, new URL(server.url)]) {
      const { body } = await dispatcher.request({ origin, path, method: 'GET' })
      await body.dump()
    }
    const urls = seen.filter((each) => each.startsWith('http') && !/ \(\d+\)$/.test(each))
    expect(new Set(urls.filter((url) => url.endsWith(shown)))).toEqual(new Set([`${server.url}${shown}`]))
    expect(seen.every((each) => each.startsWith(server.url))).toBe(true)
    expect(pacing.queue.waiting).toBe(0)
  })

  it('has its query in the URL that its route is told by', async () => {
    const server = await serve(inTurn({}))
    const seen: string[] = []
    const { dispatcher } = start({ route: ({ url }) => String(seen.push(url)) })
    await call(dispatcher, `${server.url}/a`, { query: { resource: 'core', list: [1, 2], none: null } })
    expect(seen).toEqual([`${server.url}/a?resource=core&list=1&list=2&none=`])
    expect(server.seen.map(({ path }) => path)).toEqual(['/a?resource=core&list=1&list=2&none='])
  })
})

it('A call says of itself what undici’s types do not know', async () => {
  const server = await serve(
    inTurn({ headers: { ratelimit: '"a";r=1;t=60', 'ratelimit-policy': '"a";q=9;w=60' } }),
  )
  const { dispatcher } = start({ maxWaitSeconds: 1 })
  const { body } = await request(
    server.url,
    withRateLimit({ dispatcher, method: 'POST', headers: ['a', 'b'] }, { priority: 1 }),
  )
  await body.dump()
  const dear = { cost: 2 }
  await expect(request(server.url, withRateLimit({ dispatcher }, dear))).rejects.toThrow(RateLimitError)
  const parts = { origin: server.url, path: '/', method: 'GET' as const }
  await expect(dispatcher.request(withRateLimit(parts, dear))).rejects.toThrow(RateLimitError)
  const sink = () => new Writable()
  await expect(dispatcher.stream(withRateLimit(parts, dear), sink)).rejects.toThrow(RateLimitError)
  // @ts-expect-error: this is why
  await expect(request(server.url, { dispatcher, rateLimit: dear })).rejects.toThrow(RateLimitError)
  // @ts-expect-error: no such option
  await expect(request(server.url, withRateLimit({ dispatcher }, { weight: 2 }))).rejects.toThrow('weight')
})

it('A body that is never sent is let go of', async () => {
  const { dispatcher, pacing } = start()
  await pacing.close()
  let left = 0
  const generator = (async function* () {
    try {
      yield 'a'
    } finally {
      left += 1
    }
  })()
  const stream = new Readable({ read() {} })
  const web = new ReadableStream({
    cancel: () => {
      left += 1
    },
  })
  await generator.next()
  for (const body of [stream, web, generator]) {
    const all = listener()
    dispatcher.dispatch(
      { origin: 'http://127.0.0.1:1', path: '/', method: 'POST', body } as never,
      all.handler,
    )
    await all.ended
    expect(all.heard).toEqual(['error RateLimitError'])
  }
  await until(() => left === 2)
  expect(stream.destroyed).toBe(true)
})

describe('Bodies', () => {
  it('flow no faster than they are read', async () => {
    const chunk = Buffer.alloc(65_536)
    let written = 0
    const server = await serve((_seen, response) => {
      const source = new Readable({
        read() {
          written += chunk.length
          this.push(written > 40_000_000 ? null : chunk)
        },
      })
      source.pipe(response)
    })
    const { dispatcher } = start()
    const { body } = await request(server.url, { dispatcher })
    let before = -1
    await until(() => {
      const stands = written === before
      before = written
      return stands && written > 0
    })
    expect(written).toBeLessThan(30_000_000)
    let read = 0
    for await (const part of body) read += (part as Buffer).length
    expect(read).toBeGreaterThan(39_000_000)
  })

  it('and trailers, raw fields, informational answers come through', async () => {
    const server = await serve((_seen, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' })
      response.writeHead(200, { trailer: 'x-sum', 'X-Case': 'kept' })
      response.write('body')
      response.addTrailers({ 'x-sum': '7' })
      response.end()
    })
    const { dispatcher } = start()
    const infos: number[] = []
    const { body, trailers, headers } = await request(server.url, {
      dispatcher,
      responseHeaders: 'raw',
      onInfo: ({ statusCode }) => infos.push(statusCode),
    })
    expect(await body.text()).toBe('body')
    expect(trailers).toEqual({ 'x-sum': '7' })
    expect(String(headers)).toContain(process.env.PEERS === 'newest' ? 'X-Case' : 'ase,kept')
    expect(infos).toEqual([103])
  })

  it('of stream() and fetch() come through as well', async () => {
    const server = await serve(inTurn(short, { body: 'one' }, short, { body: 'two' }))
    const { dispatcher } = start()
    let text = ''
    await dispatcher.stream(
      { origin: server.url, path: '/', method: 'GET' },
      () =>
        new Writable({
          write(chunk, _encoding, done) {
            text += chunk
            done()
          },
        }),
    )
    expect(text).toBe('one')
    expect(await (await fetch(server.url, { dispatcher })).text()).toBe('two')
  })
})

describe('An abort ends a call with its reason', () => {
  const reason = new Error('enough')

  async function aborted(
    stop: AbortController,
    calling: Promise<unknown>,
    { pacing }: ReturnType<typeof start>,
  ) {
    stop.abort(reason)
    await expect(calling).rejects.toBe(reason)
    await until(() => pacing.queue.inFlight + pacing.queue.waiting === 0)
  }

  it('before it begins', async () => {
    const server = await serve(inTurn({}))
    const all = start()
    const stop = new AbortController()
    stop.abort(reason)
    await aborted(stop, call(all.dispatcher, server.url, { signal: stop.signal }), all)
    expect(server.seen).toEqual([])
  })

  it('while it waits for its turn', async () => {
    const server = await serve(
      inTurn({ headers: { ratelimit: '"a";r=0;t=30', 'ratelimit-policy': '"a";q=1;w=30' } }),
    )
    const all = start()
    await call(all.dispatcher, server.url)
    const stop = new AbortController()
    const calling = call(all.dispatcher, server.url, { signal: stop.signal })
    await until(() => all.pacing.queue.waiting === 1)
    await aborted(stop, calling, all)
    expect(server.seen).toHaveLength(1)
  })

  it('while it waits after a refusal', async () => {
    const server = await serve(inTurn({ ...refusal, headers: { 'retry-after': '30' } }))
    const all = start()
    const stop = new AbortController()
    const calling = call(all.dispatcher, server.url, { signal: stop.signal })
    await until(() => all.pacing.queue.waiting === 1)
    await aborted(stop, calling, all)
    expect(server.seen).toHaveLength(1)
  })

  it('in the pause after a failure', async () => {
    const server = await serve((_seen, response) => void response.destroy())
    const all = start({ retry: { networkErrors: true }, backoff: { delaySeconds: () => 30 } })
    const stop = new AbortController()
    const calling = call(all.dispatcher, server.url, { signal: stop.signal })
    await until(() => all.told('retrying').length === 1)
    await aborted(stop, calling, all)
  })

  it.each([0, 1, 2, 3])('once its turn has come, %i ticks after the answer that let it go', async (ticks) => {
    let charged = 0
    const server = await serve(({ method }, response) => {
      if (method === 'POST') charged += 1
      else response.end('ok')
    })
    const all = start()
    const stop = new AbortController()
    const first = request(server.url, { dispatcher: all.dispatcher })
    const calls = Array.from({ length: 3 }, () =>
      call(all.dispatcher, server.url, post('charge', { signal: stop.signal })),
    )
    const ended = Promise.allSettled(calls)
    await first
    for (let tick = 0; tick < ticks; tick += 1) await undefined
    stop.abort(reason)
    expect(await ended).toEqual(calls.map(() => ({ status: 'rejected', reason })))
    await until(() => all.pacing.queue.inFlight === 0)
    await call(all.dispatcher, server.url)
    expect(charged).toBe(0)
  })

  it.each(['waiting', 'refused', 'retrying', 'gave-up', 'answered'] as const)(
    'when that comes from whoever is told of “%s”',
    async (type) => {
      const server = await serve((_seen, response, number) => {
        const status = number < 3 && type !== 'answered' ? 429 : 200
        response.writeHead(status, { 'retry-after': type === 'waiting' ? '30' : '1' }).write('half')
      })
      const stop = new AbortController()
      const told: string[] = []
      const all = start({
        maxAttempts: type === 'gave-up' ? 1 : 3,
        onEvent: (event) => {
          told.push(event.type)
          if (event.type === type) stop.abort(reason)
        },
      })
      const heard: string[] = []
      const parts = { origin: server.url, path: '/', method: 'GET' } as const
      const ended = new Promise<Error>((resolve) => {
        let controller: Dispatcher.DispatchController
        stop.signal.addEventListener('abort', () => controller.abort(reason))
        all.dispatcher.dispatch(parts, {
          onRequestStart: (given) => {
            controller = given
          },
          onResponseStart: () => void heard.push('answer'),
          onResponseData: () => void heard.push('data'),
          onResponseEnd: () => void heard.push('end'),
          onResponseError: (_controller, error) => {
            heard.push('error')
            resolve(error)
          },
        })
      })
      expect(await ended).toBe(reason)
      await until(() => all.pacing.queue.inFlight + all.pacing.queue.waiting + server.open === 0)
      expect(heard).toEqual(['error'])
      expect(told).toContain(type)
    },
  )

  it('while it connects', async () => {
    const agent = new Agent({ connect: () => {} })
    onTestFinished(() => agent.destroy())
    const all = start()
    const dispatcher = agent.compose(all.pacing)
    const stop = new AbortController()
    const calling = call(dispatcher, 'http://127.0.0.1:1/', { signal: stop.signal })
    await until(() => all.pacing.queue.inFlight === 1)
    await aborted(stop, calling, all)
  })

  it('while its answer is to come', async () => {
    const server = await serve(() => {})
    const all = start()
    const stop = new AbortController()
    const calling = call(all.dispatcher, server.url, { signal: stop.signal })
    await until(() => server.open === 1)
    await aborted(stop, calling, all)
    await until(() => server.open === 0)
  })

  it('within its body', async () => {
    const server = await serve((_seen, response) => void response.writeHead(200).write('half'))
    const all = start()
    const stop = new AbortController()
    const { body } = await request(server.url, { dispatcher: all.dispatcher, signal: stop.signal })
    await aborted(stop, body.text(), all)
    await until(() => server.open === 0)
  })

  it('of one signal over many calls, and leaves no listener on it', async () => {
    const server = await serve(inTurn({}))
    const { dispatcher } = start()
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners += 1
      add(...given)
    }
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners -= 1
      remove(...given)
    }
    for (let number = 0; number < 200; number += 1) await call(dispatcher, server.url, { signal })
    await until(() => listeners === 0)
  })
})

describe('Failures', () => {
  it('are told as they are, and sent again only if that is asked for', async () => {
    const server = await serve((_seen, response, number) =>
      number % 2 === 1 ? response.destroy() : response.end('ok'),
    )
    await expect(call(start().dispatcher, server.url)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' })
    await call(start().dispatcher, server.url)
    const again = start({ retry: { networkErrors: true } })
    expect(await call(again.dispatcher, server.url)).toEqual(ok)
    await expect(call(again.dispatcher, server.url, post('a'))).rejects.toMatchObject({
      code: 'UND_ERR_SOCKET',
    })
  })

  it('end as they did when no other turn comes in time', async () => {
    const server = await serve((_seen, response) => void response.destroy())
    const { dispatcher } = start({
      retry: { networkErrors: true },
      maxWaitSeconds: 0.05,
      backoff: { delaySeconds: () => 9 },
    })
    await expect(call(dispatcher, server.url)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' })
    expect(server.seen).toHaveLength(1)
  })

  it('of calls that make no sense are undici’s own', async () => {
    const { dispatcher, pacing } = start({ retry: { networkErrors: true } })
    const wrong = [{ path: 'no-slash' }, { method: 'NO SPACE' }, { headers: ['odd'] }]
    for (const options of wrong) {
      const given = { origin: 'http://127.0.0.1:1', path: '/', method: 'GET', ...options }
      await expect(dispatcher.request(given as never)).rejects.toMatchObject({ name: 'InvalidArgumentError' })
    }
    expect(pacing.queue.inFlight).toBe(0)
  })

  it('of time come at their time', async () => {
    const server = await serve(() => {})
    const attempt = call(start({ attemptTimeoutSeconds: 0.05 }).dispatcher, server.url)
    await expect(attempt).rejects.toMatchObject({ name: 'TimeoutError' })
    const total = call(start({ totalTimeoutSeconds: 0.05 }).dispatcher, server.url)
    await expect(total).rejects.toMatchObject({ name: 'RateLimitError', reason: 'deadline' })
    await until(() => server.open === 0)
  })

  it('of a client that is closed are RateLimitErrors, and with drain none', async () => {
    const empty = { ratelimit: '"a";r=0;t=1;ratepact-t-ms=200', 'ratelimit-policy': '"a";q=1;w=1' }
    const server = await serve(inTurn({ headers: empty }))
    for (const drain of [false, true]) {
      const { dispatcher, pacing } = start()
      await call(dispatcher, server.url)
      const waiting = call(dispatcher, server.url)
      await until(() => pacing.queue.waiting === 1)
      const closed = pacing.close({ drain })
      if (drain) expect(await waiting).toEqual(ok)
      else await expect(waiting).rejects.toMatchObject({ reason: 'closed' })
      await closed
    }
  })
})

describe('Beside others', () => {
  it('around another one does not multiply the attempts', async () => {
    const server = await serve(inTurn(short))
    const { dispatcher } = start({}, pace({ maxAttempts: 2 }))
    expect(await call(dispatcher, server.url)).toEqual({ status: 429, text: 'no' })
    expect(server.seen).toHaveLength(2)
  })

  it('below a fetch does not multiply the attempts of a client around that', async () => {
    // A body that can be read once down there can be sent again from up here.
    for (const init of [{}, { method: 'POST', body: 'a' }]) {
      const server = await serve(inTurn(short))
      const { dispatcher } = start()
      const api = createFetch({ fetch: (input, init) => fetch(input, { ...init, dispatcher }) })
      expect((await api(server.url, init)).status).toBe(429)
      expect(server.seen).toHaveLength(3)
    }
    const server = await serve(inTurn(refusal))
    const { headers, body } = await request(server.url, { dispatcher: start({ maxAttempts: 1 }).dispatcher })
    await body.dump()
    expect(headers).not.toHaveProperty('x-should-retry')
  })

  it('learns nothing from another origin behind a redirect, and counts its answer for the call', async () => {
    const away = await serve(
      inTurn({ headers: { ratelimit: '"b";r=0;t=60', 'ratelimit-policy': '"b";q=1;w=60' } }),
    )
    const server = await serve(inTurn({ status: 302, headers: { location: `${away.url}/` } }))
    const { dispatcher, pacing } = start({}, interceptors.redirect({ maxRedirections: 2 }))
    for (const _ of [1, 2]) expect(await call(dispatcher, server.url)).toEqual(ok)
    expect(pacing.limits(server.url)).toEqual([])
  })

  it('paces each hop of a redirect that stands before it, by the limits of its own origin', async () => {
    const limits = { ratelimit: '"b";r=5;t=60', 'ratelimit-policy': '"b";q=9;w=60' }
    const away = await serve(inTurn(short, { headers: limits }))
    const server = await serve(inTurn({ status: 302, headers: { location: `${away.url}/` } }))
    const { pacing, agent } = start()
    const dispatcher = agent.compose(pacing, interceptors.redirect({ maxRedirections: 2 }))
    expect(await call(dispatcher, server.url)).toEqual(ok)
    expect(pacing.limits(away.url)).toMatchObject([{ policy: 'b', quota: 9 }])
    expect([server.seen.length, away.seen.length]).toEqual([1, 2])
  })

  it('takes no turn for what a cache before it has, and refusals become errors only when they stay', async () => {
    const empty = {
      ratelimit: '"a";r=0;t=60',
      'ratelimit-policy': '"a";q=1;w=60',
      'cache-control': 'max-age=60',
    }
    const server = await serve(inTurn(short, { headers: empty }))
    const { pacing, agent } = start({ maxWaitSeconds: 30 })
    const dispatcher = agent.compose(pacing, interceptors.cache(), interceptors.responseError())
    for (const _ of [1, 2, 3]) expect(await call(dispatcher, server.url)).toEqual(ok)
    expect(server.seen).toHaveLength(2)
    await expect(call(dispatcher, `${server.url}/other`)).rejects.toThrow(RateLimitError)
  })

  it('lets a handler that takes the abort for itself end a call, also by a refusal that is given back', async () => {
    const server = await serve(
      inTurn({ ...refusal, headers: { 'retry-after': '30', 'content-length': '2' } }),
    )
    for (const close of [false, true]) {
      const { pacing, agent } = start({ maxAttempts: close ? 3 : 1 })
      const calling = call(agent.compose(pacing, interceptors.dump({ maxSize: 1 })), server.url)
      const ended = expect(calling).rejects.toThrow('larger than maxSize')
      await until(() => pacing.queue.waiting === 1 || pacing.queue.inFlight === 0)
      if (close) await pacing.close()
      await ended
    }
  })

  it('lets go what waits before its dispatcher is closed, if it is closed first', async () => {
    const limit = '"a";q=1;w=1;ratepact-refill="bucket";ratepact-rate=20'
    const server = await serve(
      inTurn({ headers: { ratelimit: '"a";r=0;t=1;ratepact-t-ms=50', 'ratelimit-policy': limit } }),
    )
    const { dispatcher, pacing } = start()
    await call(dispatcher, server.url)
    const waiting = call(dispatcher, server.url)
    await until(() => pacing.queue.waiting === 1)
    await pacing.close({ drain: true })
    await dispatcher.close()
    expect(await waiting).toEqual(ok)
  })

  it('serves a dispatcher of one origin that does not tell it', async () => {
    const server = await serve(inTurn(short, {}))
    const client = new Client(server.url)
    onTestFinished(() => client.destroy())
    const { body } = await client.compose(pace()).request({ path: '/', method: 'GET' })
    expect(await body.text()).toBe('ok')
  })

  it('is told the origin of such a dispatcher, and knows its limits by it', async () => {
    const limits = { ratelimit: '"b";r=5;t=60', 'ratelimit-policy': '"b";q=9;w=60' }
    const server = await serve(inTurn({ headers: limits }))
    const other = await serve(inTurn({}))
    const pacing = pace({ origin: new URL(server.url) })
    for (const { url, options } of [
      { url: server.url, options: { path: '/', method: 'GET' } },
      { url: other.url, options: { path: '/', method: 'GET', origin: other.url } },
    ] as const) {
      const client = new Client(url)
      onTestFinished(() => client.destroy())
      await (await client.compose(pacing).request(options)).body.dump()
    }
    expect(pacing.limits(server.url)).toMatchObject([{ policy: 'b', quota: 9 }])
    expect(pacing.limits(other.url)).toEqual([])
  })

  it('lets connections be upgraded', async () => {
    const { createServer } = await import('node:http')
    const server = createServer().listen(0, '127.0.0.1')
    server.on('upgrade', (_request, socket) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    )
    await new Promise((resolve) => server.once('listening', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const { dispatcher } = start()
    const origin = `http://127.0.0.1:${port}`
    const { socket } = await dispatcher.upgrade({ origin, path: '/', protocol: 'x' } as never)
    socket.destroy()
  })

  it('cannot be used without compose by handlers of the old kind', () => {
    const direct = pace()(() => true)
    expect(() => direct({ path: '/', method: 'GET' }, listener().old)).toThrow('to be used by compose()')
  })
})

it.each([
  [{ fetch }, 'Expected options to have no fetch'],
  [{ retry: { classify: () => 'ok' } }, 'Expected retry to have no classify'],
  [{ maxQueue: -1 }, 'Expected maxQueue to be'],
  [null, 'Expected options to be an object, got null'],
  [[], 'Expected options to be an object, got an array'],
  [new Map([['maxQueue', 1]]), 'Expected options to be an object, got an iterable'],
  [Promise.resolve({ maxQueue: 1 }), 'Expected options to be an object, got an object'],
  [{ origin: 'api.example' }, 'Expected origin to be an http or https URL without a path, got "api.example"'],
  [{ origin: 'ftp://api.example' }, 'Expected origin to be an http or https URL without a path'],
  [{ origin: 'https://api.example/v1' }, 'Expected origin to be an http or https URL without a path'],
  [{ origin: 5 }, 'Expected origin to be an http or https URL without a path, got 5'],
])('Options %o are refused', (options, message) => {
  expect(() => pace(options as never)).toThrow(message)
})
