import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { connect, createServer as createServer2, type Http2Server } from 'node:http2'
import { type AddressInfo, connect as connectSocket } from 'node:net'
import type { Limiter } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fastifyLimit } from '@ratepact/server/fastify'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import Fastify from 'fastify'
import Koa from 'koa'
import { onTestFinished } from 'vitest'
import { majors } from '../server/express/helper.js'

/** Writes the answer itself, whatever the framework. */
export type Handler = (response: ServerResponse) => unknown

/** The options of `rateLimit` that are called alike in every framework. */
export interface Options {
  readonly limiter: Limiter
  readonly partition: () => string
  readonly skip?: () => Promise<boolean>
  readonly onDenied?: () => void
}

export interface Call {
  /** Settles with the status and the limits when the answer is complete, or with `gone` when it will not be. */
  readonly answer: Promise<string>
  /** Hangs up. */
  leave(): void
}

/** A server with a limit before its handler, and a client that keeps its connections. */
export interface Front {
  readonly connections: () => number
  /** Answers that the server was asked for. */
  readonly responses: readonly ServerResponse[]
  ask(): Call
}

export type Open = (options: Options, handler: Handler) => Promise<Front>

/** Makes what a server listens by. */
type Framework = (options: Options, handler: Handler) => Promise<RequestListener>

const frameworks: readonly (readonly [name: string, framework: Framework])[] = [
  ...majors.map(([name, express]): readonly [string, Framework] => [
    name,
    async (options, handler) => {
      const app = express()
      app.set('env', 'test')
      app.get('/', expressLimit(options), (_request, response) => void handler(response))
      return app
    },
  ]),
  [
    'Koa',
    async (options, handler) => {
      const app = new Koa()
      app.use(koaLimit(options))
      app.use((context) => {
        context.respond = false
        context.status = 200
        handler(context.res)
      })
      return app.callback()
    },
  ],
  [
    'Fastify',
    async (options, handler) => {
      const app = Fastify()
      app.get('/', { onRequest: fastifyLimit(options) }, (_request, reply) => {
        reply.hijack()
        handler(reply.raw)
      })
      await app.ready()
      onTestFinished(() => app.close())
      return (request, response) => app.routing(request, response)
    },
  ],
  [
    'Node',
    async (options, handler) => nodeLimit(options)((_request, response) => void handler(response as never)),
  ],
]

/** Far beyond what anything here takes. */
const PATIENCE_MS = 10_000

async function listen(server: Server | Http2Server): Promise<{ port: number; connections: () => number }> {
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

function overHttp1(framework: Framework): Open {
  return async (options, handler) => {
    const responses: ServerResponse[] = []
    const listener = await framework(options, handler)
    const { port, connections } = await listen(
      createServer((request, response) => {
        responses.push(response)
        listener(request, response)
      }),
    )
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    return {
      connections,
      responses,
      ask() {
        const sent = request({ host: '127.0.0.1', port, agent, timeout: PATIENCE_MS })
        const answer = new Promise<string>((resolve) => {
          sent.on('error', () => resolve('gone'))
          sent.on('response', (got: IncomingMessage) => {
            got.on('error', () => resolve('gone'))
            got.on('end', () => resolve(`${got.statusCode} ${got.headers.ratelimit}`))
            got.resume()
          })
        })
        sent.end()
        return { answer, leave: () => sent.destroy() }
      },
    }
  }
}

/** Each call waits on its connection behind another one, which is never answered. */
function behindAnother(framework: Framework): Open {
  return async (options, handler) => {
    const responses: ServerResponse[] = []
    const listener = await framework(options, handler)
    const { port, connections } = await listen(
      createServer((request, response) => {
        if (request.url === '/first') return
        responses.push(response)
        listener(request, response)
      }),
    )
    return {
      connections,
      responses,
      ask() {
        const socket = connectSocket(port, '127.0.0.1')
        socket.on('error', () => {})
        socket.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n')
        return { answer: once(socket, 'close').then(() => 'gone'), leave: () => socket.destroy() }
      },
    }
  }
}

function overHttp2(framework: Framework): Open {
  return async (options, handler) => {
    const responses: ServerResponse[] = []
    const listener = await framework(options, handler)
    const { port, connections } = await listen(
      createServer2((request, response) => {
        responses.push(response as unknown as ServerResponse)
        listener(request as never, response as never)
      }),
    )
    const session = connect(`http://127.0.0.1:${port}`)
    onTestFinished(() => session.destroy())
    return {
      connections,
      responses,
      ask() {
        const stream = session.request({ ':path': '/' })
        const answer = new Promise<string>((resolve) => {
          let head = ''
          stream.on('response', (headers) => {
            head = `${headers[':status']} ${headers.ratelimit}`
          })
          stream.on('error', () => resolve('gone'))
          stream.on('end', () => resolve(stream.rstCode === 0 ? head : 'gone'))
          stream.resume()
        })
        return { answer, leave: () => stream.close(8) }
      },
    }
  }
}

/** Those that do HTTP/2. */
const MODERN = ['Koa', 'Node']

/** On which many calls share a connection. */
export const fronts: readonly (readonly [name: string, open: Open])[] = frameworks.flatMap(
  ([name, framework]) => [
    [`${name} over HTTP/1.1`, overHttp1(framework)],
    ...(MODERN.includes(name) ? [[`${name} over HTTP/2`, overHttp2(framework)] as const] : []),
  ],
)

/** On which a call waits for another. */
export const queues: readonly (readonly [name: string, open: Open])[] = frameworks.map(
  ([name, framework]) => [`${name} behind another call of its connection`, behindAnother(framework)],
)
