import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createFetch, RateLimitError } from '@ratepact/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fakeServer, nodeAnswer, respond } from './fake.js'
import { inTurn, serve, until } from './http.js'

const unhandled: unknown[] = []
const note = (reason: unknown): void => {
  unhandled.push(reason)
}
beforeAll(() => {
  process.on('unhandledRejection', note)
})
afterAll(() => {
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

const reason = new Error('changed my mind')
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length
const late = { status: 429, headers: { 'retry-after': '3' } }

describe('a signal that is aborted', () => {
  it('before the call: nothing is sent', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    const api = createFetch({ fetch, clock })
    await expect(api('http://api.test/', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(sent).toHaveLength(0)
  })

  it('before the call, when it would have to wait: it does not wait', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 1000)
    const api = createFetch({ fetch, clock })
    const probe = api('http://api.test/')
    await expect(api('http://api.test/', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    await clock.runUntil(probe)
    expect(sent).toHaveLength(1)
  })

  it('while the call waits for its turn: it leaves the queue, and the others go on', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200), 50)
    const api = createFetch({ fetch, clock })
    const probe = api('http://api.test/1')
    const { signal, controller } = fresh()
    const waiting = api('http://api.test/2', { signal })
    const behind = api('http://api.test/3')
    const refused = expect(waiting).rejects.toBe(reason)
    await clock.advance(1)
    expect(listeners(signal)).toBe(1)
    controller.abort(reason)
    await refused
    await clock.runUntil(Promise.all([probe, behind]))
    expect(sent.map(({ input }) => input)).toEqual(['http://api.test/1', 'http://api.test/3'])
    expect(listeners(signal)).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('in flight: the request is cancelled on the wire and the next call is not held up', async () => {
    const server = await serve((seen, response) => {
      if (seen.path === '/quick') response.end('ok')
    })
    const api = createFetch()
    const { signal, controller } = fresh()
    const call = api(`${server.url}/slow`, { signal })
    const refused = expect(call).rejects.toBe(reason)
    await until(() => server.open === 1)
    controller.abort(reason)
    await refused
    await until(() => server.open === 0)
    expect(listeners(signal)).toBe(0)
    expect((await api(`${server.url}/quick`)).status).toBe(200)
  })

  it('in flight through a fetch that ignores signals: it rejects all the same, and a late answer is let go', async () => {
    let cancelled = false
    const body = new ReadableStream({
      cancel() {
        cancelled = true
      },
    })
    let answer = (_response: Response): void => {}
    const api = createFetch({
      fetch: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    })
    const { signal, controller } = fresh()
    const call = api('http://api.test/', { signal })
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
    answer(new Response(body))
    await until(() => cancelled)
  })

  it('between attempts: it rejects at once, without a timer left', async () => {
    const server = await serve(inTurn(late))
    const api = createFetch()
    const { signal, controller } = fresh()
    const call = api(server.url, { signal })
    const refused = expect(call).rejects.toBe(reason)
    await until(() => server.seen.length === 1 && listeners(signal) === 1)
    const startMs = performance.now()
    controller.abort(reason)
    await refused
    expect(performance.now() - startMs).toBeLessThan(1000)
    expect(server.seen).toHaveLength(1)
    expect(listeners(signal)).toBe(0)
  })

  it('between attempts leaves no timer, for a wait of the pace as for one of the call alone', async () => {
    for (const status of [429, 503]) {
      const { clock, fetch } = fakeServer(() => respond(status))
      const api = createFetch({ fetch, clock, retry: { statuses: [429, 503] } })
      const { signal, controller } = fresh()
      const call = api('http://api.test/', { signal })
      const refused = expect(call).rejects.toBe(reason)
      await clock.advance(1)
      expect(clock.pending).toBe(1)
      controller.abort(reason)
      await refused
      expect(clock.pending).toBe(0)
      expect(listeners(signal)).toBe(0)
    }
  })

  it('while the body comes: reading it fails with the reason, as with fetch', async () => {
    const server = await serve((_seen, response) => {
      response.write('the beginning')
    })
    const api = createFetch()
    const { signal, controller } = fresh()
    const response = await api(server.url, { signal })
    const reading = expect(response.text()).rejects.toBe(reason)
    controller.abort(reason)
    await reading
    await until(() => server.open === 0)
    expect(listeners(signal)).toBe(0)
  })

  it('while the body is read as a stream: the stream fails with the reason', async () => {
    const server = await serve((_seen, response) => {
      response.write('the beginning')
    })
    const api = createFetch()
    const { signal, controller } = fresh()
    const response = await api(server.url, { signal })
    const reader = response.body?.getReader()
    await reader?.read()
    const reading = expect(reader?.read()).rejects.toBe(reason)
    controller.abort(reason)
    await reading
  })

  it('while the body of a refusal comes that was put aside: reading it fails with the reason', async () => {
    const server = await serve((_seen, response) => {
      response.writeHead(429, { 'retry-after': '3' }).write('the beginning')
    })
    let waiting = false
    const api = createFetch({
      onEvent({ type }) {
        waiting ||= type === 'retrying'
      },
    })
    const { signal, controller } = fresh()
    const call = api(server.url, { signal })
    await until(() => waiting)
    await new Promise((resolve) => setImmediate(resolve))
    void api.close()
    const response = await call
    expect(response.status).toBe(429)
    const reading = expect(response.text()).rejects.toBe(reason)
    controller.abort(reason)
    await reading
    await until(() => server.open === 0)
    expect(listeners(signal)).toBe(0)
  })

  it('by the fetch itself, which then throws: the call rejects with the reason, and nothing else does', async () => {
    const { signal, controller } = fresh()
    const api = createFetch({
      fetch: () => {
        controller.abort(reason)
        throw new Error('aborted')
      },
    })
    await expect(api('http://api.test/', { signal })).rejects.toBe(reason)
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })

  it('in flight through a fetch with an error of its own for that: it rejects with the reason', async () => {
    const api = createFetch({
      fetch: (_input, init: RequestInit) =>
        new Promise((_, reject) => {
          init.signal?.addEventListener('abort', () => reject(new Error('my own')))
        }),
    })
    const { signal, controller } = fresh()
    const call = api('http://api.test/', { signal })
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
  })

  it('in flight, where bodies are Node streams: a late answer is left alone', async () => {
    let answer = (_response: Response): void => {}
    const api = createFetch({
      fetch: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    })
    const { signal, controller } = fresh()
    const call = api('http://api.test/', { signal })
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
    answer(nodeAnswer(200))
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })

  it('after the end: nothing happens', async () => {
    const server = await serve(inTurn({ body: 'whole' }))
    const api = createFetch()
    const { signal, controller } = fresh()
    const response = await api(server.url, { signal })
    expect(await response.text()).toBe('whole')
    controller.abort(reason)
    expect((await api(server.url)).status).toBe(200)
  })

  it('of a Request: it counts like one given beside it, and null switches it off', async () => {
    const server = await serve((_seen, response) => {
      setTimeout(() => response.end('ok'), 50)
    })
    const api = createFetch()
    const { signal, controller } = fresh()
    const request = new Request(server.url, { signal })
    const call = api(request.clone())
    const deaf = api(request.clone(), { signal: null })
    const refused = expect(call).rejects.toBe(reason)
    await until(() => server.open > 0)
    controller.abort(reason)
    await refused
    expect((await deaf).status).toBe(200)
  })

  it('with a timeout of AbortSignal.timeout rejects with its TimeoutError', async () => {
    const server = await serve(inTurn(late))
    const api = createFetch()
    await expect(api(server.url, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
  })
})

describe('one signal over many calls', () => {
  it('has no listener left after 1000 calls, each with a retry', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number % 2 === 1 ? respond(429, { 'retry-after': '1' }) : respond(200),
    )
    const api = createFetch({ fetch, clock, maxWaitSeconds: 100_000, maxQueue: 1000 })
    const { signal } = fresh()
    for (let call = 0; call < 1000; call += 1) {
      const response = await clock.runUntil(api('http://api.test/', { signal }))
      await response.text()
    }
    expect(sent).toHaveLength(2000)
    expect(listeners(signal)).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('has one listener at most while hundreds of calls wait and fly, and all of them end with it', async () => {
    const { clock, fetch } = fakeServer(() => respond(200, { ratelimit: '"a";r=0;t=9' }), 10)
    const api = createFetch({ fetch, clock })
    const { signal, controller } = fresh()
    const calls = Array.from({ length: 300 }, () => api('http://api.test/', { signal }))
    const results = Promise.allSettled(calls)
    await clock.advance(5)
    expect(listeners(signal)).toBe(1)
    controller.abort(reason)
    for (const result of await results) expect(result).toEqual({ status: 'rejected', reason })
    expect(listeners(signal)).toBe(0)
  })

  it('has none left over real HTTP either, whichever way a body is read', async () => {
    const server = await serve((seen, response) => {
      response.writeHead(seen.path === '/none' ? 204 : 200, { 'content-type': 'application/json' })
      response.end(seen.path === '/none' ? undefined : '{}')
    })
    const api = createFetch()
    const { signal } = fresh()
    for (let round = 0; round < 10; round += 1) {
      for (const read of ['text', 'json', 'arrayBuffer', 'blob'] as const) {
        await (await api(server.url, { signal }))[read]()
      }
      await api(`${server.url}/none`, { signal })
      await api(server.url, { signal, method: 'HEAD' })
    }
    expect(listeners(signal)).toBe(0)
  })

  it('has none left for bodies that nobody read, once they are collected', async () => {
    const server = await serve(inTurn({ body: 'x'.repeat(1000) }))
    const api = createFetch()
    const { signal } = fresh()
    for (let call = 0; call < 20; call += 1) await api(server.url, { signal })
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    await until(() => {
      collect()
      return listeners(signal) === 0
    })
  })
})

describe('timeouts', () => {
  it('attemptTimeoutSeconds ends one sending with a TimeoutError', async () => {
    const server = await serve(() => {})
    const api = createFetch({ attemptTimeoutSeconds: 0.1 })
    await expect(api(server.url)).rejects.toMatchObject({ name: 'TimeoutError' })
    await until(() => server.open === 0)
  })

  it('attemptTimeoutSeconds does not count the waits between', async () => {
    const { clock, fetch } = fakeServer(
      (number) => (number === 1 ? respond(429, { 'retry-after': '5' }) : respond(200)),
      600,
    )
    const api = createFetch({ fetch, clock, attemptTimeoutSeconds: 1 })
    expect((await clock.runUntil(api('http://api.test/'))).status).toBe(200)
  })

  it('totalTimeoutSeconds ends a call in flight, and frees its place', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 5000)
    const api = createFetch({ fetch, clock, totalTimeoutSeconds: 1 })
    const error = await clock.runUntil(api('http://api.test/').catch((cause: unknown) => cause))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ reason: 'deadline' })
    expect(clock.now()).toBe(1000)
  })

  it('totalTimeoutSeconds returns a 429 at once when the wait for another try cannot fit', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(429, { 'retry-after': '5' }))
    const api = createFetch({ fetch, clock, totalTimeoutSeconds: 4 })
    expect((await clock.runUntil(api('http://api.test/'))).status).toBe(429)
    expect(clock.now()).toBe(0)
    expect(sent).toHaveLength(1)
    const second = await api('http://api.test/').catch((cause: unknown) => cause)
    expect(second).toMatchObject({ reason: 'deadline', retryAfterSeconds: 5 })
  })
})

function fresh(): { signal: AbortSignal; controller: AbortController } {
  const controller = new AbortController()
  return { signal: controller.signal, controller }
}
