import { createFetch, exponentialBackoff } from '@ratepact/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeServer, respond } from './fake.js'
import { inTurn, type Seen, serve, type TestServer } from './http.js'

const backoff = exponentialBackoff({ firstSeconds: 0.02 })
const refusal = { status: 429, body: 'later' }
const steps = ['1', '2', '3']

/** What `make` changes between calls and after them, made twice: by fetch itself and by a client. */
const reused: Record<string, (server: TestServer) => (step: string) => [RequestInfo | URL, RequestInit?]> = {
  'a plain object of headers': ({ url }) => {
    const headers: Record<string, string> = {}
    return (step) => {
      headers['x-step'] = step
      return [url, { method: 'POST', headers }]
    }
  },
  'one init': ({ url }) => {
    const init: RequestInit = {}
    return (step) => {
      init.headers = { 'x-step': step }
      return [url, init]
    }
  },
  Headers: ({ url }) => {
    const headers = new Headers()
    return (step) => {
      headers.set('x-step', step)
      return [url, { headers }]
    }
  },
  'pairs of headers': ({ url }) => {
    const pair: [string, string] = ['x-step', '']
    return (step) => {
      pair[1] = step
      return [url, { headers: [pair] }]
    }
  },
  'a Map of headers': ({ url }) => {
    const headers = new Map<string, string>()
    return (step) => [url, { headers: headers.set('x-step', step) as unknown as Headers }]
  },
  'a URL': (server) => {
    const url = new URL(server.url)
    return (step) => {
      url.searchParams.set('step', step)
      return [url]
    }
  },
  'what turns into a URL': (server) => {
    let path = ''
    const url = { toString: () => server.url + path } as unknown as URL
    return (step) => {
      path = `/${step}`
      return [url]
    }
  },
  'a Request without a body': ({ url }) => {
    const request = new Request(url)
    return (step) => {
      request.headers.set('x-step', step)
      return [request]
    }
  },
}

const shown = ({ path, headers }: Seen): string => `${path} ${headers['x-step']}`

describe('a call is sent as it was when it was made', () => {
  for (const [kind, make] of Object.entries(reused)) {
    it(`when ${kind} serves one call after the other`, async () => {
      const theirs = await serve(inTurn({}))
      const ours = await serve(inTurn({}, {}, refusal, {}))
      for (const [server, send] of [[theirs, fetch] as const, [ours, createFetch({ backoff })] as const]) {
        const next = make(server)
        const calls = steps.map((step) => send(...next(step)))
        next('changed')
        await Promise.all(calls)
      }
      expect(new Set(ours.seen.map(shown))).toEqual(new Set(theirs.seen.map(shown)))
      expect(ours.seen).toHaveLength(4)
      expect(theirs.seen).toHaveLength(3)
    })
  }

  it('when a Request with a body is changed during a wait, and read', async () => {
    const server = await serve(inTurn(refusal, {}))
    const request = new Request(server.url, { method: 'POST', body: 'mine', headers: { 'x-step': '1' } })
    const call = createFetch({ backoff })(request)
    expect(request.bodyUsed).toBe(true)
    request.headers.set('x-step', 'changed')
    await expect(request.text()).rejects.toBeInstanceOf(TypeError)
    await call
    const sent = server.seen.map((seen) => `${shown(seen)} ${seen.body} ${seen.headers['content-type']}`)
    expect(sent).toEqual(Array(2).fill('/ 1 mine text/plain;charset=UTF-8'))
  })

  it('and the partition is that of the credential which is sent', async () => {
    const partitions: string[] = []
    const server = await serve(inTurn({}))
    const headers: Record<string, string> = {}
    const api = createFetch({
      partition(request) {
        partitions.push(request.headers.get('authorization') ?? 'none')
        return partitions.at(-1) ?? ''
      },
    })
    const calls = steps.map((step) => {
      headers.authorization = step
      return api(server.url, { headers })
    })
    await Promise.all(calls)
    expect(partitions).toEqual(steps)
    expect(new Set(server.seen.map((seen) => seen.headers.authorization))).toEqual(new Set(steps))
  })

  it('and a relative address leads where it led then, when the page gets another one', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'location'))
    Reflect.set(globalThis, 'location', { href: 'http://api.test/one/' })
    await createFetch({ fetch, clock })('orders?page=2')
    expect(sent.map(({ input }) => input)).toEqual(['http://api.test/one/orders?page=2'])
  })

  it('and nothing of an init is lost that fetch would read, enumerable or not', async () => {
    const server = await serve(inTurn({}))
    const hidden = Object.defineProperties(
      {},
      { method: { value: 'PUT' }, headers: { value: { 'x-step': '1' } } },
    )
    class Init {
      readonly headers = { 'x-step': '2' }
      get method(): string {
        return 'PATCH'
      }
    }
    const inherited: RequestInit = Object.create({ method: 'DELETE', headers: { 'x-step': '3' } })
    for (const send of [fetch, createFetch()])
      for (const init of [hidden, new Init(), inherited]) await send(server.url, init)
    const seen = server.seen.map((each) => `${each.method} ${each.headers['x-step']}`)
    expect(seen.slice(0, 3)).toEqual(['PUT 1', 'PATCH 2', 'DELETE 3'])
    expect(seen.slice(3)).toEqual(seen.slice(0, 3))
  })

  it('and what a getter gives is asked for once', async () => {
    const server = await serve(inTurn({}))
    let asked = 0
    const init = {
      get headers(): Record<string, string> {
        asked += 1
        return { 'x-step': String(asked) }
      },
    }
    await createFetch()(server.url, init)
    expect(server.seen.map(shown)).toEqual(['/ 1'])
    expect(asked).toBe(1)
  })
})

describe('headers given as an iterator', () => {
  it('are seen by the partition, and sent', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    const seen: (string | null)[] = []
    const api = createFetch({
      fetch,
      clock,
      partition({ headers }) {
        seen.push(headers.get('authorization'))
        return ''
      },
    })
    const headers = new Headers({ authorization: 'Bearer one' }).entries() as unknown as [string, string][]
    await api('http://api.test/', { headers })
    expect(seen).toEqual(['Bearer one'])
    expect(new Headers(sent[0]?.init.headers).get('authorization')).toBe('Bearer one')
  })
})

describe('what fetch takes no copy of', () => {
  it('reaches it untouched, members it does not know included', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    const init = { dispatcher: {}, integrity: 'sha256-x', credentials: 'omit', body: new Blob(['x']), cf: {} }
    await createFetch({ fetch, clock })('http://api.test/?q=a b', init as RequestInit)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.input).toBe('http://api.test/?q=a b')
    expect({ ...sent[0]?.init }).toEqual(init)
    for (const [name, value] of Object.entries(init)) {
      expect(Reflect.get(sent[0]?.init ?? {}, name)).toBe(value)
    }
  })

  it('is refused as fetch refuses it', async () => {
    const server = await serve(inTurn({}))
    let accepted = 0
    const strange: unknown[] = [
      { headers: null },
      { headers: 'x-test: yes' },
      { headers: [['x-test']] },
      { headers: [5] },
      { signal: {} },
      { signal: 'none' },
      { method: 'POST', body: new Uint8Array(new SharedArrayBuffer(3)) },
      'GET',
    ]
    for (const timeout of [{}, { attemptTimeoutSeconds: 5 }]) {
      const api = createFetch(timeout)
      for (const init of strange as RequestInit[]) {
        const theirs: unknown = await fetch(server.url, init).catch((error) => error)
        const ours: unknown = await api(server.url, init).catch((error) => error)
        // What one version of fetch refuses a later one may take.
        if (theirs instanceof Response) accepted += 2
        expect(ours).toBeInstanceOf(theirs instanceof Response ? Response : TypeError)
        expect(String(ours)).not.toMatch(/Cannot|Reflect|WeakMap|weak map|not a function/)
      }
      const nothing = null as unknown as string
      const theirs: unknown = await fetch(nothing).catch((error) => error)
      expect(String(await api(nothing).catch((error) => error))).toBe(String(theirs))
    }
    expect(server.seen).toHaveLength(accepted)
    expect(accepted).toBeLessThan(strange.length)
  })
})
