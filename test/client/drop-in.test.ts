import { type ClientEvent, createFetch } from '@ratepact/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeServer, respond } from './fake.js'
import { type Handler, inTurn, serve } from './http.js'

const site: Handler = (seen, response) => {
  const { path } = seen
  if (path === '/redirect') response.writeHead(302, { location: '/text' }).end()
  else if (path === '/cached') response.writeHead(304, { etag: '"1"' }).end()
  else if (path === '/none') response.writeHead(204).end()
  else if (path === '/json') response.setHeader('content-type', 'application/json').end('{"a":1}')
  else if (path === '/fault') response.writeHead(500).end('broken')
  else if (path === '/cookies') response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] }).end()
  else response.end(`${seen.method} ${path} ${seen.body}`)
}

async function facts(response: Response): Promise<unknown> {
  const { status, statusText, ok, redirected, type, url, headers } = response
  const body = response.bodyUsed ? 'used' : await response.clone().text()
  const cookies = headers.getSetCookie()
  return { status, statusText, ok, redirected, type, url, body, cookies, etag: headers.get('etag') }
}

describe('the answer is what fetch gives', () => {
  const cases: [string, RequestInit?][] = [
    ['/text?q=1'],
    ['/text', { method: 'POST', body: 'data' }],
    ['/text', { method: 'HEAD' }],
    ['/redirect'],
    ['/redirect', { redirect: 'manual' }],
    ['/cached', { headers: { 'if-none-match': '"1"' } }],
    ['/none'],
    ['/json'],
    ['/fault'],
    ['/cookies'],
  ]
  for (const [path, init] of cases) {
    it(`for ${init?.method ?? 'GET'} ${path} ${init?.redirect ?? ''}`, async () => {
      const server = await serve(site)
      const api = createFetch()
      const ours = await api(server.url + path, init)
      expect(ours).toBeInstanceOf(Response)
      expect(await facts(ours)).toEqual(await facts(await fetch(server.url + path, init)))
    })
  }

  it('for a string, a URL, a Request and anything that turns into a string', async () => {
    const server = await serve(site)
    const api = createFetch()
    const url = `${server.url}/text`
    const inputs = [url, new URL(url), new Request(url), { toString: () => url } as unknown as URL]
    for (const input of inputs) expect(await (await api(input)).text()).toBe('GET /text ')
  })

  it('with a signal too, whole and unchanged', async () => {
    const server = await serve(site)
    const { signal } = new AbortController()
    const response = await createFetch()(`${server.url}/json`, { signal })
    expect(Object.keys(response)).toEqual([])
    expect(response.url).toBe(`${server.url}/json`)
    const copy = response.clone()
    expect(await response.json()).toEqual({ a: 1 })
    expect(response.bodyUsed).toBe(true)
    expect(await copy.text()).toBe('{"a":1}')
    await expect(response.text()).rejects.toBeInstanceOf(TypeError)
  })
})

describe('a member of init that is undefined', () => {
  const options = {
    'no options': {},
    'an instance': { tellInstance: true },
    'a key': { retry: { idempotencyKey: true } },
  }
  const init = {
    headers: undefined,
    method: undefined,
    referrer: undefined,
    body: undefined,
  } as unknown as RequestInit
  for (const [name, given] of Object.entries(options)) {
    it(`takes nothing from a Request, by a client with ${name}`, async () => {
      const server = await serve(site)
      const headers = { authorization: 'Bearer one', 'content-type': 'application/json' }
      const request = () => new Request(`${server.url}/text`, { method: 'POST', headers, body: '{}' })
      for (const send of [fetch, createFetch(given)]) await (await send(request(), init)).text()
      const [bare, ours] = server.seen
      for (const field of Object.keys(headers)) expect(ours?.headers[field]).toBe(bare?.headers[field])
      expect([ours?.method, String(ours?.body)]).toEqual(['POST', '{}'])
    })
  }

  it('leaves a Request the partition of its credential', async () => {
    const partitions: string[] = []
    const { fetch } = fakeServer(() => respond(429, { 'retry-after': '9' }))
    const onEvent = ({ partition }: ClientEvent): void => void partitions.push(partition)
    const api = createFetch({ fetch, maxAttempts: 1, onEvent })
    for (const authorization of ['one', 'two'])
      await api(new Request('http://api.test/', { headers: { authorization } }), init)
    expect(new Set(partitions).size).toBe(2)
  })
})

describe('the error is what fetch gives', () => {
  it('for what is no address, or one of no use', async () => {
    const api = createFetch()
    for (const input of ['/relative', 'http://', 'http://user:password@host/', 'foo:bar']) {
      const theirs: unknown = await fetch(input).catch((error) => error)
      const ours: unknown = await api(input).catch((error) => error)
      expect(ours).toBeInstanceOf(TypeError)
      expect(String(ours)).toBe(String(theirs))
    }
  })

  it('for what makes no request: always a rejection, never a throw', async () => {
    const api = createFetch()
    const url = 'http://127.0.0.1:9/'
    for (const init of [{ method: 'GET', body: 'x' }, { headers: { 'a b': 'c' } }, { method: 'no method' }]) {
      const theirs: unknown = await fetch(url, init).catch((error) => error)
      const ours: unknown = await api(url, init).catch((error) => error)
      expect(ours).toBeInstanceOf(TypeError)
      expect(theirs).toBeInstanceOf(TypeError)
    }
  })

  it('for a signal that is none', async () => {
    const server = await serve(inTurn({}))
    const signal = new EventTarget() as AbortSignal
    await expect(createFetch()(server.url, { signal })).rejects.toBeInstanceOf(TypeError)
    expect(server.seen).toHaveLength(0)
  })
})

describe('the underlying fetch', () => {
  it('serves addresses that are not HTTP as it does alone', async () => {
    const response = await createFetch()('data:text/plain,hello')
    expect(await response.text()).toBe('hello')
  })

  it('is globalThis.fetch as it is at the time of the call', async () => {
    const api = createFetch()
    const { fetch } = globalThis
    globalThis.fetch = async () => new Response('another one')
    try {
      expect(await (await api('http://api.test/')).text()).toBe('another one')
    } finally {
      globalThis.fetch = fetch
    }
  })

  it('is the one that was there before when the client takes its place', async () => {
    const server = await serve(inTurn({ status: 429 }, { body: 'text' }))
    const { fetch } = globalThis
    onTestFinished(() => {
      globalThis.fetch = fetch
    })
    const events: string[] = []
    const another = createFetch()
    globalThis.fetch = createFetch({
      backoff: { delaySeconds: () => 0.01 },
      onEvent: ({ type }) => events.push(type),
    })
    expect(await (await globalThis.fetch(server.url)).text()).toBe('text')
    expect(events.filter((type) => type === 'refused')).toHaveLength(1)
    expect(server.seen).toHaveLength(2)
    // And so for one that replaces the first, and for one made before either.
    globalThis.fetch = createFetch()
    expect((await globalThis.fetch(server.url)).status).toBe(200)
    expect((await another(server.url)).status).toBe(200)
    expect(server.seen).toHaveLength(4)
  })

  it('is that one too when the place is taken by what calls the client', async () => {
    const server = await serve(inTurn({}))
    const { fetch } = globalThis
    onTestFinished(() => {
      globalThis.fetch = fetch
    })
    const api = createFetch()
    globalThis.fetch = (input, init) => api(new Request(input, init))
    const { signal } = new AbortController()
    expect((await globalThis.fetch(server.url, { signal })).status).toBe(200)
    expect((await api(server.url)).status).toBe(200)
    expect(server.seen).toHaveLength(2)
  })

  it('is that one also where what took the place calls the client later, with what it was given or a copy', async () => {
    const server = await serve(inTurn({}))
    const { fetch } = globalThis
    onTestFinished(() => {
      globalThis.fetch = fetch
    })
    const api = createFetch({ totalTimeoutSeconds: 3 })
    let entered = 0
    globalThis.fetch = async (input, init) => {
      entered += 1
      await new Promise((resolve) => setImmediate(resolve))
      return api(input, entered % 2 === 0 ? init : { ...init, headers: { authorization: 'token' } })
    }
    expect((await globalThis.fetch(server.url)).status).toBe(200)
    expect((await api(new Request(server.url, { method: 'POST', body: 'x' }))).status).toBe(200)
    expect(server.seen.map(({ method }) => method)).toEqual(['GET', 'POST'])
    expect(entered).toBe(3)
  })

  it('fails the call when the client takes the place of none', async () => {
    const { fetch } = globalThis
    onTestFinished(() => {
      globalThis.fetch = fetch
    })
    Reflect.deleteProperty(globalThis, 'fetch')
    globalThis.fetch = createFetch()
    await expect(globalThis.fetch('http://api.test/')).rejects.toThrow('Expected the option fetch')
  })

  it('uses a kept connection again', async () => {
    const server = await serve(inTurn({ body: 'x'.repeat(1000) }))
    const api = createFetch()
    for (let call = 0; call < 10; call += 1) {
      await (await api(server.url)).text()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(server.connections).toBe(1)
  })
})
