import type { ServerResponse } from 'node:http'
import { createFetch, exponentialBackoff } from '@ratepact/client'
import { pace } from '@ratepact/client/undici'
import { Agent, request, fetch as undiciFetch } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { inTurn, serve, until } from './http.js'

const backoff = exponentialBackoff({ firstSeconds: 0.05, maxSeconds: 0.1 })

function agent(connections: number): Agent {
  const one = new Agent({ connections, pipelining: 1 })
  onTestFinished(() => one.destroy())
  return one
}

describe('connections', () => {
  it('are used again after a refusal: 15 calls with a 429 each need one', async () => {
    const server = await serve((_seen, response, number) => {
      response.writeHead(number % 2 === 1 ? 429 : 200).end('x'.repeat(5000))
    })
    const api = createFetch({ fetch: undiciFetch, backoff })
    const dispatcher = agent(1)
    for (let call = 0; call < 15; call += 1) {
      const response = await api(server.url, { dispatcher } as RequestInit)
      await response.text()
      expect(response.status).toBe(200)
    }
    expect(server.seen).toHaveLength(30)
    expect(server.connections).toBe(1)
  })

  it('are not kept busy by refusals of half a megabyte: a pool of one gets through, on one', async () => {
    const server = await serve(inTurn({ status: 429, body: Buffer.alloc(512 * 1024) }, { body: 'ok' }))
    const api = createFetch({ fetch: undiciFetch, backoff })
    const response = await api(server.url, { dispatcher: agent(1) } as RequestInit)
    expect(await response.text()).toBe('ok')
    expect(server.connections).toBe(1)
  })

  it('are not spent on a refusal without end: it is cut off, and the call gets through', async () => {
    const server = await serve((_seen, response, number) => {
      if (number > 1) return response.end('ok')
      response.writeHead(429)
      const flood = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', flood)
      flood()
    })
    const api = createFetch({ fetch: undiciFetch, backoff })
    const response = await api(server.url, { dispatcher: agent(1) } as RequestInit)
    expect(await response.text()).toBe('ok')
    await until(() => server.open === 0)
  })

  it('are not held by a refusal whose body never ends: it is cut off after a second', async () => {
    const server = await serve((_seen, response, number) => {
      if (number > 1) response.end('ok')
      else response.writeHead(429, { 'retry-after': '1' }).write('the beginning')
    })
    const api = createFetch({ fetch: undiciFetch, backoff })
    const response = await api(server.url, { dispatcher: agent(1) } as RequestInit)
    expect(await response.text()).toBe('ok')
    await until(() => server.open === 0)
  })
})

describe('a refusal whose call is not sent again after all', () => {
  const calls = {
    fetch: async (url: string) => {
      const api = createFetch({ fetch: undiciFetch })
      const calling = api(url, { dispatcher: agent(1) } as RequestInit)
      return { calling, close: () => api.close() }
    },
    undici: async (url: string) => {
      const pacing = pace()
      const calling = request(url, { dispatcher: agent(1).compose(pacing) }).then(
        ({ statusCode, headers, body }) =>
          Object.assign(new Response(null, { status: statusCode, headers: headers as HeadersInit }), {
            text: () => body.text(),
          }),
      )
      return { calling, close: () => pacing.close() }
    },
  }
  type Write = (response: ServerResponse) => unknown
  const bodies: readonly (readonly [what: string, text: string, write: Write])[] = [
    ['short', 'no', (response) => response.end('no')],
    ['of 70 kB', '', (response) => response.end(Buffer.alloc(70_000))],
    ['of 70 kB and more to come', '', (response) => response.write(Buffer.alloc(70_000))],
    ['of 2 MB', '', (response) => response.end(Buffer.alloc(2_000_000))],
    ['that does not end', '', (response) => response.write('no')],
    [
      'that breaks off',
      '',
      (response) => response.write('no', () => setTimeout(() => response.destroy(), 50)),
    ],
  ]
  it.each(Object.entries(calls))(
    'is returned by %s, with its body where that is short',
    async (_front, start) => {
      const ends = bodies.flatMap(([what, text, write]) =>
        // While its body is being read, and when no more of it is: after a second.
        [200, 1200].map(async (ms) => {
          const server = await serve((_seen, response) => {
            response.writeHead(429, { 'retry-after': '20', 'x-a': 'b' })
            write(response)
          })
          const { calling, close } = await start(server.url)
          await until(() => server.seen.length === 1)
          await new Promise((resolve) => setTimeout(resolve, ms))
          await close()
          const answer = await calling
          const said = ms < 1000 && what === 'that does not end' ? undefined : await answer.text()
          expect([what, ms, answer.status, answer.headers.get('x-a')]).toEqual([what, ms, 429, 'b'])
          expect([what, ms, said ?? text]).toEqual([what, ms, text])
        }),
      )
      await Promise.all(ends)
    },
  )
})

describe('draining a refusal', () => {
  it('does not put off the next attempt', async () => {
    const server = await serve((_seen, response, number) => {
      if (number > 1) response.end('ok')
      else response.writeHead(429).write('the beginning')
    })
    const api = createFetch({ fetch: undiciFetch, backoff })
    const response = await api(server.url, { dispatcher: agent(2) } as RequestInit)
    expect(response.status).toBe(200)
    const [first, second] = server.seen
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeLessThan(900)
  })
})

describe('HEAD', () => {
  it('with a Content-Length is retried and ends', async () => {
    const server = await serve((_seen, response, number) => {
      response.writeHead(number === 1 ? 429 : 200, { 'content-length': '5' }).end()
    })
    const api = createFetch({ fetch: undiciFetch, backoff })
    const response = await api(server.url, { method: 'HEAD', dispatcher: agent(1) } as RequestInit)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-length')).toBe('5')
    expect(await response.text()).toBe('')
    // undici closes a connection after each HEAD.
    expect(server.connections).toBeLessThanOrEqual(2)
  })
})
