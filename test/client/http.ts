import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A request as the server got it, its body read to the end. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** Names and values in turn, as they came. */
  readonly raw: readonly string[]
  readonly body: Buffer
  readonly atMs: number
}

export interface TestServer {
  readonly url: string
  /** What arrived, in order. */
  readonly seen: readonly Seen[]
  /** How many connections were ever opened. */
  readonly connections: number
  /** Requests that no answer was given to yet. */
  readonly open: number
}

/** Answers the request with that number, counted from 1. */
export type Handler = (seen: Seen, response: ServerResponse, number: number) => void

/** A real server on the loopback for one test. */
export async function serve(handler: Handler): Promise<TestServer> {
  const seen: Seen[] = []
  let connections = 0
  let open = 0
  const server = createServer(async (request, response) => {
    const atMs = performance.now()
    open += 1
    response.on('close', () => {
      open -= 1
    })
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const { method = '', url = '', headers, rawHeaders: raw } = request
    const entry = { method, path: url, headers, raw, body: Buffer.concat(chunks), atMs }
    seen.push(entry)
    handler(entry, response, seen.length)
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    get connections() {
      return connections
    },
    get open() {
      return open
    },
  }
}

/** Answers with these in turn, and with the last one for ever after. */
export function inTurn(...answers: readonly Answer[]): Handler {
  return (_seen, response, number) => {
    const answer = answers[Math.min(number, answers.length) - 1] ?? {}
    response.writeHead(answer.status ?? 200, answer.headers ?? {})
    response.end(answer.body ?? 'ok')
  }
}

export interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
}

/** Waits until it holds, looking after each turn of the event loop, and gives up after five seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 5000
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`Still not so after 5 s: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
