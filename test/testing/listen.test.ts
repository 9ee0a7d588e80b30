import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tokenBucket } from '@ratepact/server'
import { type LimitedApi, type Listening, limitedApi, testClock } from '@ratepact/testing'
import { Agent, fetch } from 'undici'
import { expect, onTestFinished, test } from 'vitest'

const policies = [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 1 })]

async function listening(
  respond?: (request: Request) => Response | Promise<Response>,
): Promise<Listening & { api: LimitedApi }> {
  const api = limitedApi({ policies, ...(respond === undefined ? undefined : { respond }) })
  const server = await api.listen()
  onTestFinished(() => server.close())
  return { ...server, api }
}

/** One connection for all calls of a test, closed with it. */
function oneConnection(): Agent {
  const agent = new Agent({ connections: 1 })
  onTestFinished(() => agent.destroy())
  return agent
}

/** What comes back for bytes sent as they are. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket: Socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (data) => {
    answer += data
  })
  socket.end(bytes)
  await once(socket, 'close')
  return answer
}

function sockets(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP'))
}

test('listens on a free port of this machine alone, and answers as the API does', async () => {
  const { url, port, api } = await listening()
  expect(url).toBe(`http://127.0.0.1:${port}`)
  const response = await fetch(`${url}/orders?a=1`, {
    method: 'POST',
    body: 'x',
    headers: { 'x-api-key': 'k' },
    dispatcher: oneConnection(),
  })
  expect(await response.json()).toEqual({ ok: true })
  expect(response.headers.get('ratelimit')).toContain('"burst";r=99')
  expect(api.requests).toMatchObject([{ method: 'POST', url: `${url}/orders?a=1`, admitted: true }])
  expect(api.requests[0]?.headers.get('x-api-key')).toBe('k')
})

test('hands on bodies both ways, and every header of one name', async () => {
  const { url } = await listening(
    async (request) =>
      new Response(request.body, {
        headers: [
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
        ],
      }),
  )
  const body = 'long '.repeat(100_000)
  const response = await fetch(url, { method: 'PUT', body, dispatcher: oneConnection() })
  expect(await response.text()).toBe(body)
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
})

test('goes on with a connection whose last body nobody read', async () => {
  const { url, api } = await listening()
  const dispatcher = oneConnection()
  for (let i = 0; i < 3; i += 1) {
    const response = await fetch(url, { method: 'POST', body: 'x'.repeat(2_000_000), dispatcher })
    expect(await response.json()).toEqual({ ok: true })
  }
  expect(api.counts().received).toBe(3)
})

test('answers HEAD without a body, and leaves the connection usable', async () => {
  const { url } = await listening()
  const dispatcher = oneConnection()
  const head = await fetch(url, { method: 'HEAD', dispatcher })
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect((await fetch(url, { dispatcher })).status).toBe(200)
})

test('answers 400 to what no fetch could have sent', async () => {
  const { port, api } = await listening()
  for (const line of ['GET http://[ HTTP/1.1', 'TRACE / HTTP/1.1']) {
    expect(await raw(port, `${line}\r\nHost: a\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
  }
  expect(await raw(port, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  expect(api.counts().received).toBe(0)
})

test('cuts the connection when the answer throws, and serves the next', async () => {
  let broken = true
  const { url } = await listening(() => {
    if (broken) throw new Error('cut')
    return new Response('fine')
  })
  const dispatcher = oneConnection()
  await expect(fetch(url, { dispatcher })).rejects.toThrow('fetch failed')
  broken = false
  expect(await (await fetch(url, { dispatcher })).text()).toBe('fine')
})

test('cuts the connection when the body of an answer fails half way', async () => {
  const { url } = await listening(() => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('half'))
        setTimeout(() => controller.error(new Error('cut')), 10)
      },
    })
    return new Response(body)
  })
  await expect(
    fetch(url, { dispatcher: oneConnection() }).then((response) => response.text()),
  ).rejects.toThrow()
})

test('tells the answer when the client has gone', async () => {
  const signals: AbortSignal[] = []
  const { url } = await listening(({ signal }) => {
    signals.push(signal)
    return new Promise<Response>(() => {})
  })
  const call = httpRequest(url).on('error', () => {})
  call.end()
  await expect.poll(() => signals.length, { interval: 5 }).toBe(1)
  expect(signals[0]?.aborted).toBe(false)
  call.destroy()
  await expect.poll(() => signals[0]?.aborted, { interval: 5 }).toBe(true)
})

test('counts by the clock of the test on a port as well', async () => {
  const clock = testClock()
  const api = limitedApi({
    clock,
    policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 0.001 })],
  })
  const { url, close } = await api.listen()
  onTestFinished(close)
  const dispatcher = oneConnection()
  const status = async (): Promise<number> => (await fetch(url, { dispatcher })).status
  expect([await status(), await status()]).toEqual([200, 429])
  await clock.advance(1_000_000)
  expect(await status()).toBe(200)
})

test('closes with connections open and a call under way, twice if asked, and leaves nothing behind', async () => {
  const api = limitedApi({
    policies,
    respond: ({ url }) => (url.endsWith('/slow') ? new Promise<Response>(() => {}) : new Response('x')),
  })
  const server = await api.listen()
  const agent = new Agent()
  expect(await (await fetch(server.url, { dispatcher: agent })).text()).toBe('x')
  const slow = fetch(`${server.url}/slow`, { dispatcher: agent }).catch((error: Error) => error)
  await expect.poll(() => api.counts().received, { interval: 5 }).toBe(2)
  await Promise.all([server.close(), server.close()])
  expect(await slow).toBeInstanceOf(Error)
  await agent.destroy()
  await expect.poll(sockets, { interval: 5 }).toEqual([])
  await expect(fetch(server.url)).rejects.toThrow('fetch failed')
  await (await api.listen({ port: server.port })).close()
})

test('refuses a port that is taken or is none', async () => {
  const { port, api } = await listening()
  await expect(api.listen({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await expect(api.listen({ port: 70_000 })).rejects.toThrow(
    'Expected port to be a number from 0 to 65535, got 70000',
  )
  await expect(api.listen({ host: '0.0.0.0' } as never)).rejects.toThrow('Unknown option "host"')
})
