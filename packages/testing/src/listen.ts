import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkMembers, checkNumber } from './check.js'
import { type AnyFetch, outcomeOf } from './exchange.js'

export interface ListenOptions {
  /** A port of 127.0.0.1. @default 0, any that is free */
  readonly port?: number
}

/** An API that listens. */
export interface Listening {
  /** Where: `http://127.0.0.1:40123`. */
  readonly url: string
  readonly port: number
  /** Stops, and ends every connection. Resolves when the port is free again. */
  close(): Promise<void>
}

/** Serves a fetch function on a port of this machine. @throws Error when the port is taken */
export async function listen(fetch: AnyFetch, options: ListenOptions = {}): Promise<Listening> {
  checkMembers('the options of listen', options, ['port'])
  const { port: wanted = 0 } = options
  checkNumber('port', wanted, 0, 65_535)
  // Only here, so that a browser can load the rest.
  const { createServer } = await import('node:http')
  const server = createServer((incoming, outgoing) => {
    answer(fetch, incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(wanted, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : wanted
  let closing: Promise<void> | undefined
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close() {
      closing ??= new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      return closing
    },
  }
}

async function answer(fetch: AnyFetch, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  // What nobody read of the body would stop the next request on the connection.
  outgoing.once('finish', () => incoming.removeAllListeners('data').resume())
  const request = await requestOf(incoming, gone.signal)
  const response =
    request === undefined ? new Response(null, { status: 400 }) : await answerTo(fetch, request)
  if (outgoing.destroyed) return response.body?.cancel()
  outgoing.writeHead(response.status, response.statusText || undefined, headersOf(response))
  if (response.body === null || incoming.method === 'HEAD') {
    outgoing.end()
    return response.body?.cancel()
  }
  const { Readable } = await import('node:stream')
  const { pipeline } = await import('node:stream/promises')
  await pipeline(Readable.fromWeb(response.body as never), outgoing)
}

/** Fails where the connection is to; a mistake in the API's options is an answer that says what it was. */
async function answerTo(fetch: AnyFetch, request: Request): Promise<Response> {
  const outcome = await outcomeOf(fetch, request).catch((error: unknown) => ({
    response: new Response(textOf(error), { status: 500, headers: { 'Content-Type': 'text/plain' } }),
  }))
  if ('failure' in outcome) throw outcome.failure
  return outcome.response
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error)
}

/** The request as fetch has it; undefined where it cannot have such a one. */
async function requestOf(incoming: IncomingMessage, signal: AbortSignal): Promise<Request | undefined> {
  const { method = 'GET', url = '/', rawHeaders, socket } = incoming
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const { Readable } = await import('node:stream')
  const body = hasBody ? (Readable.toWeb(incoming) as unknown as BodyInit) : null
  try {
    const headers = new Headers()
    for (let i = 0; i + 1 < rawHeaders.length; i += 2)
      headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '')
    const base = `http://127.0.0.1:${socket.localPort}`
    const init = { method, headers, body, signal, duplex: 'half' }
    return new Request(new URL(url, base), init)
  } catch {
    return undefined
  }
}

/** Pairs, since a response may have several of one name. */
function headersOf(response: Response): string[] {
  return [...response.headers].flat()
}
