import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { createFetch, exponentialBackoff } from '@ratepact/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { fakeServer, nodeAnswer, respond } from './fake.js'
import { inTurn, serve } from './http.js'

const backoff = exponentialBackoff({ firstSeconds: 0.02 })
const refusal = { status: 429, body: 'later' }
const bytes = new Uint8Array(100_000).map((_, index) => (index * 7) % 256)

const kinds: Record<string, () => { body: NonNullable<RequestInit['body']>; expected: Uint8Array }> = {
  'a string': () => ({ body: 'grüße', expected: Buffer.from('grüße') }),
  'an empty string': () => ({ body: '', expected: new Uint8Array() }),
  'a Uint8Array': () => ({ body: bytes.slice(), expected: bytes }),
  'a part of a buffer': () => ({ body: bytes.subarray(10, 20), expected: bytes.slice(10, 20) }),
  'an ArrayBuffer': () => ({ body: bytes.slice().buffer, expected: bytes }),
  'a DataView': () => ({ body: new DataView(bytes.slice().buffer, 5, 7), expected: bytes.slice(5, 12) }),
  'a Blob': () => ({ body: new Blob([bytes]), expected: bytes }),
  URLSearchParams: () => ({ body: new URLSearchParams({ a: '1 2' }), expected: Buffer.from('a=1+2') }),
}

describe('a body that can be sent again', () => {
  for (const [kind, make] of Object.entries(kinds)) {
    it(`${kind} arrives byte for byte at each attempt, with the same type`, async () => {
      const server = await serve(inTurn(refusal, refusal, {}))
      const { body, expected } = make()
      const response = await createFetch({ backoff })(server.url, { method: 'POST', body })
      expect(response.status).toBe(200)
      expect(server.seen).toHaveLength(3)
      for (const seen of server.seen) {
        expect(Buffer.compare(seen.body, expected)).toBe(0)
        expect(seen.headers['content-length']).toBe(String(expected.length))
        expect(seen.headers['content-type']).toBe(server.seen[0]?.headers['content-type'])
      }
    })
  }

  it('FormData arrives whole at each attempt, under the boundary that its head names', async () => {
    const server = await serve(inTurn(refusal, {}))
    const form = new FormData()
    form.append('name', 'Ada')
    form.append('file', new Blob([bytes], { type: 'application/x-test' }), 'data.bin')
    const response = await createFetch({ backoff })(server.url, { method: 'POST', body: form })
    expect(response.status).toBe(200)
    expect(server.seen).toHaveLength(2)
    for (const seen of server.seen) {
      const received = await new Response(new Uint8Array(seen.body), {
        headers: { 'content-type': String(seen.headers['content-type']) },
      }).formData()
      expect(received.get('name')).toBe('Ada')
      const file = received.get('file') as File
      expect(file.name).toBe('data.bin')
      expect(Buffer.compare(Buffer.from(await file.arrayBuffer()), bytes)).toBe(0)
    }
  })

  it('is sent as it was when the call was made, whatever becomes of it during a wait', async () => {
    const server = await serve(inTurn(refusal, {}))
    const api = createFetch({ backoff })
    const body = new Uint8Array([1, 2, 3])
    const params = new URLSearchParams({ a: '1' })
    const headers: Record<string, string> = { 'x-test': 'before' }
    const init: RequestInit = { method: 'POST', body, headers }
    const first = api(server.url, init)
    const second = api(server.url, { method: 'POST', body: params })
    body.fill(9)
    params.set('a', '2')
    init.method = 'DELETE'
    await Promise.all([first, second])
    const sent = server.seen.map((seen) => `${seen.method} ${seen.body.toString('hex')}`)
    expect(new Set(sent)).toEqual(new Set(['POST 010203', `POST ${Buffer.from('a=1').toString('hex')}`]))
  })

  it('headers given as an iterator are sent at each attempt', async () => {
    const server = await serve(inTurn(refusal, {}))
    const headers = new Map([['x-test', 'yes']]).entries() as unknown as [string, string][]
    await createFetch({ backoff })(server.url, { headers })
    const pair = new Set(['x-test', 'yes']).values() as unknown as [string, string]
    await createFetch({ backoff })(server.url, { headers: [pair] })
    expect(server.seen.map((seen) => seen.headers['x-test'])).toEqual(['yes', 'yes', 'yes'])
  })
})

describe('a Request', () => {
  it('without a body is sent again, and its method and headers with it', async () => {
    const server = await serve(inTurn(refusal, {}))
    const request = new Request(server.url, { headers: { 'x-test': 'yes' } })
    expect((await createFetch({ backoff })(request)).status).toBe(200)
    expect(server.seen.map(({ method, headers }) => [method, headers['x-test']])).toEqual([
      ['GET', 'yes'],
      ['GET', 'yes'],
    ])
  })

  it('with a body is sent again byte for byte, and is used up afterwards, as fetch leaves it', async () => {
    const server = await serve(inTurn(refusal, refusal, {}))
    const request = new Request(server.url, { method: 'POST', body: bytes })
    expect((await createFetch({ backoff })(request)).status).toBe(200)
    expect(server.seen).toHaveLength(3)
    for (const seen of server.seen) expect(Buffer.compare(seen.body, bytes)).toBe(0)
    expect(request.bodyUsed).toBe(true)
  })

  it('with a body in init sends that one', async () => {
    const server = await serve(inTurn(refusal, {}))
    const request = new Request(server.url, { method: 'POST', body: 'old' })
    await createFetch({ backoff })(request, { body: 'new' })
    expect(server.seen.map((seen) => seen.body.toString())).toEqual(['new', 'new'])
  })

  it('keeps no copy of its body when no attempt follows', async () => {
    const clone = vi.spyOn(Request.prototype, 'clone')
    onTestFinished(() => clone.mockRestore())
    const request = new Request('http://api.test/', { method: 'POST', body: bytes })
    const { fetch } = fakeServer(() => respond(200))
    await createFetch({ fetch })(request)
    expect(clone.mock.results.map(({ value }) => (value as Request).bodyUsed)).toEqual([true])
  })

  it('is not cloned when no attempt can follow', async () => {
    const clone = vi.spyOn(Request.prototype, 'clone')
    onTestFinished(() => clone.mockRestore())
    const { fetch, sent } = fakeServer(() => respond(429))
    const request = new Request('http://api.test/', { method: 'POST', body: 'x' })
    await createFetch({ fetch, maxAttempts: 1 })(request)
    expect(clone).not.toHaveBeenCalled()
    const [only] = sent
    expect(await new Response((only?.input as Request | undefined)?.body).text()).toBe('x')
  })

  it('that is used up already is refused as fetch refuses it', async () => {
    const server = await serve(inTurn({}))
    const request = new Request(server.url, { method: 'POST', body: 'x' })
    await request.text()
    await expect(fetch(request)).rejects.toBeInstanceOf(TypeError)
    await expect(createFetch()(request)).rejects.toBeInstanceOf(TypeError)
    expect(server.seen).toHaveLength(0)
  })

  it('given as init keeps its method, headers and body', async () => {
    const server = await serve(inTurn({}))
    const init = new Request('http://other.test/', { method: 'PUT', headers: { 'x-test': 'yes' }, body: 'x' })
    await createFetch()(server.url, init as RequestInit)
    expect(server.seen[0]).toMatchObject({ method: 'PUT' })
    expect(server.seen[0]?.headers['x-test']).toBe('yes')
    expect(server.seen[0]?.body.toString()).toBe('x')
  })
})

describe('a body that can be read once', () => {
  const streams: Record<string, () => unknown> = {
    'a ReadableStream': () => new Blob(['once']).stream(),
    'a Node stream': () => Readable.from([Buffer.from('once')]),
    'an async generator': async function* () {
      yield Buffer.from('once')
    },
  }
  for (const [kind, make] of Object.entries(streams)) {
    it(`${kind} is sent once and gets its 429 back, readable`, async () => {
      const server = await serve(inTurn(refusal))
      const body = (
        kind === 'an async generator' ? (make as () => AsyncIterable<Buffer>)() : make()
      ) as BodyInit
      const response = await createFetch({ backoff })(server.url, {
        method: 'POST',
        body,
        duplex: 'half',
      } as RequestInit)
      expect(response.status).toBe(429)
      expect(await response.text()).toBe('later')
      expect(server.seen.map((seen) => seen.body.toString())).toEqual(['once'])
    })
  }
})

describe('a body that was sent with a call that failed', () => {
  it('is sent again byte for byte after a 500 and after a lost connection', async () => {
    const server = await serve((_seen, response, number) => {
      if (number === 2) response.destroy()
      else response.writeHead(number === 1 ? 500 : 200).end()
    })
    const api = createFetch({ backoff, retry: { statuses: [500], networkErrors: true } })
    const body = JSON.stringify({ name: 'Ada', text: 'grüße'.repeat(1000) })
    expect((await api(server.url, { method: 'PUT', body })).status).toBe(200)
    expect(server.seen.map((seen) => seen.body.toString())).toEqual([body, body, body])
  })

  it('is not sent again empty when it was a stream, of web, Node or the oldest kind: the answer or the error comes back', async () => {
    const oldStream = new EventEmitter() as EventEmitter & { pipe(): void }
    oldStream.pipe = () => {}
    for (const [stream, lost] of [
      [new Blob(['once']).stream(), false],
      [Readable.from([Buffer.from('once')]), true],
      [oldStream, true],
    ] as const) {
      const { clock, sent, fetch } = fakeServer(() => {
        if (lost) throw new TypeError('fetch failed')
        return respond(503, { 'retry-after': '1' })
      })
      const api = createFetch({ fetch, clock, retry: { statuses: [503], networkErrors: true } })
      const init = { method: 'PUT', body: stream, duplex: 'half' } as unknown as RequestInit
      const end = await api('http://api.test/', init).catch((error: unknown) => error)
      if (lost) expect(end).toMatchObject({ message: 'fetch failed' })
      else expect(end).toMatchObject({ status: 503 })
      expect(sent).toHaveLength(1)
    }
  })
})

describe('a body made by a function', () => {
  const kinds: Record<string, () => BodyInit | Promise<BodyInit>> = {
    'a stream': () => new Blob(['anew']).stream(),
    'a Node stream': () => Readable.from([Buffer.from('anew')]) as unknown as BodyInit,
    'a promise of a stream': async () => new Blob(['anew']).stream(),
    'a string': () => 'anew',
  }
  for (const [kind, body] of Object.entries(kinds)) {
    it(`is made for each attempt: ${kind}`, async () => {
      const server = await serve(inTurn(refusal, refusal, {}))
      const { signal } = new AbortController()
      const response = await createFetch({ backoff })(server.url, { method: 'POST', body, signal })
      expect(response.status).toBe(200)
      expect(server.seen.map((seen) => seen.body.toString())).toEqual(['anew', 'anew', 'anew'])
    })
  }

  it('is made when the call is sent, and not while it waits', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 10)
    const api = createFetch({ fetch, clock })
    const first = api('http://api.test/')
    let made = 0
    const body = (): string => {
      made += 1
      return 'x'
    }
    const second = api('http://api.test/', { method: 'POST', body })
    await clock.advance(5)
    expect(made).toBe(0)
    await clock.runUntil(Promise.all([first, second]))
    expect(made).toBe(1)
  })

  it('that cannot be made fails the call with that error, and holds up nobody', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200))
    const api = createFetch({ fetch, clock, retry: { networkErrors: true } })
    const body = async (): Promise<string> => {
      throw new Error('no such file')
    }
    await expect(api('http://api.test/', { method: 'POST', body })).rejects.toThrow('no such file')
    expect((await api('http://api.test/')).status).toBe(200)
    expect(sent).toHaveLength(1)
  })
})

describe('the answer after a refusal', () => {
  it('has nothing of the refusal in it: a plain 200 after a gzipped 429', async () => {
    const { gzipSync } = await import('node:zlib')
    const zipped = gzipSync('slow down')
    const server = await serve(
      inTurn(
        { status: 429, headers: { 'content-encoding': 'gzip', 'content-type': 'text/x' }, body: zipped },
        { headers: { 'content-type': 'text/plain' }, body: 'plain' },
      ),
    )
    const response = await createFetch({ backoff })(server.url)
    expect(await response.text()).toBe('plain')
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(response.headers.get('content-type')).toBe('text/plain')
  })

  it('leaves no copy of the refusal in memory', async () => {
    const refused = respond(429, { 'retry-after': '1' }, 'x'.repeat(50_000))
    const clones: Response[] = []
    refused.clone = () => {
      const clone = Response.prototype.clone.call(refused)
      clones.push(clone)
      return clone
    }
    const { clock, fetch } = fakeServer((number) => (number === 1 ? refused : respond(200)))
    await clock.runUntil(createFetch({ fetch, clock })('http://api.test/'))
    expect(clones.map((clone) => clone.bodyUsed)).toEqual([true])
  })

  it('comes after refusals whose bodies are Node streams too, and such a refusal is given back', async () => {
    const { clock, fetch } = fakeServer((number) =>
      number === 1 ? nodeAnswer(429, { 'retry-after': '1' }) : respond(200),
    )
    const api = createFetch({ fetch, clock })
    expect((await clock.runUntil(api('http://api.test/'))).status).toBe(200)
    const refusing = createFetch({ fetch: async () => nodeAnswer(429, { 'retry-after': '1' }), clock })
    const refused = await clock.runUntil(refusing('http://api.test/'))
    expect(refused.status).toBe(429)
    expect(await refused.text()).toBe('text')
    expect(clock.pending).toBe(0)
  })

  it('reads those to their end before it is sent again, which frees the connection, or ends them after a second', async () => {
    const endless = new Readable({ read: () => {} })
    const whole = Readable.from([Buffer.from('text')])
    for (const body of [whole, endless]) {
      const refused = Object.defineProperty(respond(429, { 'retry-after': '1' }), 'body', { value: body })
      const { clock, fetch } = fakeServer((number) => (number === 1 ? refused : respond(200)))
      expect((await clock.runUntil(createFetch({ fetch, clock })('http://api.test/'))).status).toBe(200)
      await clock.advance(1000)
      expect([body.readableEnded, body.destroyed]).toEqual([body === whole, true])
      expect(clock.pending).toBe(0)
    }
  })

  it('is the refusal itself, whole, when a longer block makes the wait too long after all', async () => {
    // The first call waits one second; meanwhile the second is told to wait a minute.
    const { clock, fetch } = fakeServer((number) => {
      if (number <= 2) return respond(200)
      return number === 3
        ? respond(429, { 'retry-after': '1' }, 'the first refusal')
        : respond(429, { 'retry-after': '100' }, 'the second refusal')
    }, 10)
    const api = createFetch({ fetch, clock, maxWaitSeconds: 30 })
    await clock.runUntil(api('http://api.test/'))
    await clock.runUntil(api('http://api.test/'))
    const first = api('http://api.test/')
    await clock.advance(5)
    const second = api('http://api.test/')
    const [one, two] = await clock.runUntil(Promise.all([first, second]))
    expect([one.status, two.status]).toEqual([429, 429])
    expect(await one.text()).toBe('the first refusal')
    expect(await two.text()).toBe('the second refusal')
    expect(clock.now()).toBeLessThan(1000)
    expect(clock.pending).toBe(0)
  })
})

describe('a stream that is never sent', () => {
  const streams = (ended: string[]): Record<string, () => RequestInit> => {
    const web = (): ReadableStream => new ReadableStream({ cancel: () => void ended.push('ended') })
    return {
      'a web stream': () => ({ body: web() }),
      'a Node stream': () => ({
        body: new Readable({
          read: () => {},
          destroy: (_error, done) => done(void ended.push('ended') as never),
        }) as never,
      }),
    }
  }
  const asRequest = ({ body }: RequestInit): Request =>
    new Request('http://api.test/', { method: 'POST', body, duplex: 'half' } as RequestInit)

  it('is ended when the client is closed already', async () => {
    const ended: string[] = []
    for (const [kind, make] of Object.entries(streams(ended))) {
      const { clock, fetch } = fakeServer(() => respond(200))
      const api = createFetch({ fetch, clock })
      await api.close()
      const call = api('http://api.test/', { method: 'POST', duplex: 'half', ...make() } as RequestInit)
      await expect(call, kind).rejects.toMatchObject({ reason: 'closed' })
      await vi.waitFor(() => expect(ended.splice(0)).toEqual(['ended']))
      await api.close()
    }
  })

  it('is ended, as fetch does for a call that is aborted, whatever kept the call', async () => {
    const ended: string[] = []
    const empty = { ratelimit: '"a";r=0;t=100', 'ratelimit-policy': '"a";q=1;w=100' }
    for (const [kind, make] of Object.entries(streams(ended))) {
      const { clock, fetch, sent } = fakeServer(() => respond(200, empty))
      const api = createFetch({ fetch, clock, maxWaitSeconds: 1 })
      await api('http://api.test/')
      const post = { method: 'POST', duplex: 'half' } as RequestInit
      const waiting = new AbortController()
      const patient = { maxWaitSeconds: 200 }
      const calls = [
        api('http://api.test/', { ...post, ...make() }),
        api('http://api.test/', { ...post, ...make(), signal: AbortSignal.abort() }),
        api('http://api.test/', { ...post, ...make(), rateLimit: patient, signal: waiting.signal }),
        api('http://api.test/', { ...post, ...make(), rateLimit: patient }),
        ...(kind === 'a web stream' ? [api(asRequest(make()))] : []),
      ]
      const outcomes = Promise.allSettled(calls)
      waiting.abort()
      await clock.advance(1)
      await api.close()
      for (const { status } of await outcomes) expect([kind, status]).toEqual([kind, 'rejected'])
      await vi.waitFor(() => expect(ended.splice(0)).toHaveLength(calls.length))
      expect(sent).toHaveLength(1)
    }
  })
})
