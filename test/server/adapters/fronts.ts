import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttp2Server, type Http2Server } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { serve as serveFetch } from '@hono/node-server'
import Router from '@koa/router'
import { All, Controller, Module, Req, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { Denied } from '@ratepact/server/express'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fastifyLimit, rateLimitPlugin } from '@ratepact/server/fastify'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimitModule } from '@ratepact/server/nest'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import express5, { type ErrorRequestHandler, type Request as ExpressRequest } from 'express'
import express4 from 'express4'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import Koa from 'koa'
import { onTestFinished } from 'vitest'
import { type Ask, askHttp1, askHttp2 } from './ask.js'
import 'reflect-metadata'

/** What a user's function is told of a request on every front. */
export interface Call {
  readonly method: string
  header(name: string): string | undefined
}

/** What a handler answers with. */
export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Several pieces are sent one by one. */
  readonly body?: string | readonly string[]
}

export type Handler = (call: Call) => Reply | Promise<Reply>

/** Options of `rateLimit` whose functions are called alike on every front. */
export interface Options {
  readonly [name: string]: unknown
  readonly onDenied?: (call: Call, decision: Denied) => Reply | Promise<Reply>
}

export interface Served {
  readonly port: number
  readonly ask: Ask
  /** What the error handler of the framework was given. */
  readonly errors: unknown[]
}

export type Trust = 'none' | 'nearest' | 'all'

export interface Front {
  readonly name: string
  readonly http: 1 | 2
  /** Whether the framework has a say about proxies. */
  readonly proxies: boolean
  /**
   * Serves `/` with limiters before the handler, each made of the options given; another path is nobody's. The framework
   * is told to trust no proxy, the nearest, or whatever a request says.
   */
  open(limits: readonly Options[], handler?: Handler, trust?: Trust): Promise<Served>
}

const EXPRESS = { none: false, nearest: 1, all: true }
const FASTIFY = { none: false, nearest: '127.0.0.1', all: true }

const FUNCTIONS = ['partition', 'cost', 'scope', 'plan', 'skip']
const OF_ANSWERS = ['chargeWhen', 'settle']

/** The options with functions that take what a framework calls them with. */
function adapted(options: Options, toCall: (...args: never[]) => Call): Record<string, unknown> {
  const adapt = (name: string, value: unknown): unknown => {
    if (typeof value !== 'function') return value
    if (FUNCTIONS.includes(name)) return (...args: never[]) => value(toCall(...args))
    if (!OF_ANSWERS.includes(name)) return value
    return (answer: unknown, ...args: never[]) => value(answer, toCall(...args))
  }
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, adapt(name, value)]))
}

type Headers = Readonly<Record<string, string | string[] | undefined>>
type HasHeaders = { readonly method?: string | undefined; readonly headers: Headers }

const callOf = ({ method = '', headers }: HasHeaders): Call => ({
  method,
  header: (name) => headers[name]?.toString(),
})
const pieces = ({ body = '' }: Reply): string[] => [body].flat() as string[]
const isWhole = ({ body }: Reply): boolean => !Array.isArray(body)

const listening = new Map<1 | 2, (port: number) => Ask>([
  [1, askHttp1],
  [2, askHttp2],
])

async function served(http: 1 | 2, server: Server | Http2Server, errors: unknown[]): Promise<Served> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, ask: (listening.get(http) ?? askHttp1)(port), errors }
}

/** Answers as one does without a framework. */
async function writeNode(response: ServerResponse, reply: Reply): Promise<void> {
  response.writeHead(reply.status ?? response.statusCode, reply.headers)
  if (isWhole(reply)) return void response.end(pieces(reply)[0])
  for (const piece of pieces(reply)) {
    response.write(piece)
    await new Promise(setImmediate)
  }
  response.end()
}

function expressFront(name: string, express: typeof express5): Front {
  return {
    name,
    http: 1,
    proxies: true,
    async open(limits, handler = () => ({ body: 'handled' }), trust = 'none') {
      const errors: unknown[] = []
      const app = express()
      app.disable('x-powered-by')
      app.set('trust proxy', EXPRESS[trust])
      const write = async (res: express5.Response, reply: Reply): Promise<void> => {
        if (!isWhole(reply)) return writeNode(res, reply)
        if (reply.status !== undefined) res.status(reply.status)
        res.set(reply.headers ?? {}).end(pieces(reply)[0])
      }
      for (const options of limits) {
        const own = options.onDenied
        app.use(
          expressLimit({
            ...adapted(options, callOf),
            ...(own && {
              onDenied: async (
                req: ExpressRequest,
                res: express5.Response,
                _next: unknown,
                decision: Denied,
              ) => write(res, await own(callOf(req), decision)),
            }),
          } as never),
        )
      }
      app.all('/', (req, res, next) => {
        void (async () => write(res, await handler(callOf(req))))().catch(next)
      })
      const report: ErrorRequestHandler = (error, _req, res, next) => {
        errors.push(error)
        if (res.headersSent) return next(error)
        res.status(500).end('failed')
      }
      app.use(report)
      return served(1, createServer(app), errors)
    },
  }
}

function fastifyFront(http: 1 | 2): Front {
  return {
    name: http === 1 ? 'Fastify' : 'Fastify over HTTP/2',
    http,
    proxies: true,
    async open(limits, handler = () => ({ body: 'handled' }), trust = 'none') {
      const errors: unknown[] = []
      const trustProxy = FASTIFY[trust]
      const app = (http === 2
        ? Fastify({ http2: true, trustProxy })
        : Fastify({ trustProxy })) as unknown as FastifyInstance
      app.setErrorHandler((error, _request, reply) => {
        errors.push(error)
        return reply.code(500).send('failed')
      })
      const send = (reply: FastifyReply, answer: Reply): unknown => {
        if (answer.status !== undefined) reply.code(answer.status)
        reply.headers(answer.headers ?? {})
        return isWhole(answer) ? reply.send(pieces(answer)[0]) : reply.send(Readable.from(pieces(answer)))
      }
      for (const [i, options] of limits.entries()) {
        const own = options.onDenied
        const adaptedOptions = {
          ...adapted(options, callOf),
          ...(own && {
            onDenied: async (request: HasHeaders, reply: FastifyReply, decision: Denied) => {
              send(reply, await own(callOf(request), decision))
            },
          }),
        } as never
        // Mounted in either way.
        if (i === 0) await app.register(rateLimitPlugin(adaptedOptions))
        else app.addHook('onRequest', fastifyLimit(adaptedOptions))
      }
      // No body is read that nobody has asked for.
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', (_request, payload, done) => {
        payload.resume()
        done(null)
      })
      app.all('/', async (request, reply) => {
        await send(reply, await handler(callOf(request)))
        return reply
      })
      await app.ready()
      const sockets: Socket[] = []
      app.server.on('connection', (socket) => sockets.push(socket))
      onTestFinished(() => app.close())
      // Sooner: over HTTP/2 it waits for streams of which Node never tells the end.
      onTestFinished(() => {
        for (const socket of sockets) socket.destroy()
      })
      await app.listen({ port: 0, host: '127.0.0.1' })
      const { port } = app.server.address() as AddressInfo
      return { port, ask: (listening.get(http) ?? askHttp1)(port), errors }
    },
  }
}

function koaFront(http: 1 | 2): Front {
  return {
    name: http === 1 ? 'Koa' : 'Koa over HTTP/2',
    http,
    proxies: true,
    async open(limits, handler = () => ({ body: 'handled' }), trust = 'none') {
      const errors: unknown[] = []
      const app = new Koa(trust === 'none' ? {} : { proxy: true, maxIpsCount: trust === 'all' ? 0 : 1 })
      app.on('error', (error) => errors.push(error))
      const write = (ctx: Koa.Context, reply: Reply): void => {
        if (reply.status !== undefined) ctx.status = reply.status
        ctx.set(reply.headers ?? {})
        ctx.body = isWhole(reply) ? pieces(reply)[0] : Readable.from(pieces(reply))
      }
      for (const options of limits) {
        const own = options.onDenied
        app.use(
          koaLimit({
            ...adapted(options, callOf),
            ...(own && {
              onDenied: async (ctx: Koa.Context, decision: Denied) =>
                write(ctx, await own(callOf(ctx), decision)),
            }),
          } as never),
        )
      }
      const router = new Router()
      router.all('/', async (ctx) => write(ctx, await handler(callOf(ctx))))
      app.use(router.routes())
      const server = http === 2 ? createHttp2Server(app.callback()) : createServer(app.callback())
      return served(http, server, errors)
    },
  }
}

function nestFront(platform: 'Express' | 'Fastify'): Front {
  return {
    name: `Nest on ${platform}`,
    http: 1,
    proxies: true,
    async open(limits, handler = () => ({ body: 'handled' }), trust = 'none') {
      const errors: unknown[] = []
      class Root {
        async root(request: HasHeaders, response: unknown): Promise<void> {
          const reply = await handler(callOf(request))
          if (platform === 'Fastify') {
            const fastify = response as FastifyReply
            if (reply.status !== undefined) fastify.code(reply.status)
            fastify.headers(reply.headers ?? {})
            await (isWhole(reply)
              ? fastify.send(pieces(reply)[0])
              : fastify.send(Readable.from(pieces(reply))))
            return
          }
          await writeNode(response as ServerResponse, reply)
        }
      }
      Req()(Root.prototype, 'root', 0)
      Res()(Root.prototype, 'root', 1)
      All('/')(Root.prototype, 'root', Object.getOwnPropertyDescriptor(Root.prototype, 'root') as never)
      Controller('/')(Root)
      class App {}
      const { HttpException } = await import('@nestjs/common')
      const imports = limits.map((options) => {
        const own = options.onDenied
        return rateLimitModule({
          ...adapted(options, callOf),
          ...(own && {
            onDenied: async (request: HasHeaders, _context: unknown, decision: Denied) => {
              const { status, headers = {}, body } = await own(callOf(request), decision)
              return Object.assign(new HttpException(body as string, status ?? 429), { headers })
            },
          }),
        } as never)
      })
      Module({ controllers: [Root], imports: imports as never })(App)
      const adapter =
        platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter({ trustProxy: FASTIFY[trust] })
      const app = await NestFactory.create<NestExpressApplication & NestFastifyApplication>(
        App,
        adapter as never,
        {
          logger: false,
        },
      )
      onTestFinished(() => app.close())
      if (platform === 'Express') app.set('trust proxy', EXPRESS[trust])
      app.useGlobalFilters({
        catch(error: unknown, host: import('@nestjs/common').ArgumentsHost) {
          const response = host.switchToHttp().getResponse()
          const known = error instanceof HttpException
          if (!known) errors.push(error)
          for (const [name, value] of Object.entries((error as { headers?: object }).headers ?? {}))
            app.getHttpAdapter().setHeader(response, name, value)
          if (app.getHttpAdapter().isHeadersSent(response)) return app.getHttpAdapter().end(response)
          app
            .getHttpAdapter()
            .reply(response, known ? error.getResponse() : 'failed', known ? error.getStatus() : 500)
        },
      })
      await app.listen(0, '127.0.0.1')
      const { port } = app.getHttpServer().address() as AddressInfo
      return { port, ask: askHttp1(port), errors }
    },
  }
}

function nodeFront(http: 1 | 2): Front {
  return {
    name: http === 1 ? 'node:http' : 'node:http2',
    http,
    proxies: false,
    async open(limits, handler = () => ({ body: 'handled' })) {
      const errors: unknown[] = []
      const onError = (
        error: unknown,
        _request: unknown,
        response: { headersSent: boolean; statusCode: number },
      ) => {
        errors.push(error)
        if (response.headersSent) throw error
        response.statusCode = 500
        ;(response as ServerResponse).end('failed')
      }
      let listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
        if (request.url?.split('?')[0] !== '/') return writeNode(response, { status: 404 })
        await writeNode(response, await handler(callOf(request)))
      }
      for (const options of limits.toReversed()) {
        const own = options.onDenied
        const limit = nodeLimit({
          onError,
          ...adapted(options, callOf),
          ...(own && {
            onDenied: async (request: IncomingMessage, response: ServerResponse, decision: Denied) =>
              writeNode(response, await own(callOf(request), decision)),
          }),
        } as never)
        listener = limit(listener) as never
      }
      const server =
        http === 2 ? createHttp2Server(listener as never) : createServer(listener as RequestListener)
      return served(http, server, errors)
    },
  }
}

const fetchFront: Front = {
  name: 'a fetch handler',
  http: 1,
  proxies: false,
  async open(limits, handler = () => ({ body: 'handled' })) {
    const errors: unknown[] = []
    const fetchCall = (request: Request): Call => ({
      method: request.method,
      header: (name) => request.headers.get(name) ?? undefined,
    })
    const respond = (reply: Reply): Response => {
      const body = isWhole(reply)
        ? pieces(reply)[0]
        : Readable.toWeb(Readable.from(pieces(reply).map((text) => Buffer.from(text))))
      return new Response(reply.status === 204 || reply.status === 304 ? null : (body as BodyInit), {
        status: reply.status ?? 200,
        headers: reply.headers ?? {},
      })
    }
    let handle = async (request: Request, _platform: unknown): Promise<Response> =>
      new URL(request.url).pathname === '/'
        ? respond(await handler(fetchCall(request)))
        : new Response(null, { status: 404 })
    for (const options of limits.toReversed()) {
      const own = options.onDenied
      const limit = fetchLimit({
        address: (_request: Request, { incoming }: { incoming: IncomingMessage }) =>
          incoming.socket.remoteAddress,
        ...adapted(options, fetchCall),
        ...(own && {
          onDenied: async (request: Request, decision: Denied) => {
            const reply = await own(fetchCall(request), decision)
            return respond({ status: decision.outcome === 'unavailable' ? 503 : 429, ...reply })
          },
        }),
      } as never)
      handle = limit(handle)
    }
    const guarded = async (request: Request, platform: unknown): Promise<Response> => {
      try {
        return await handle(request, platform)
      } catch (error) {
        errors.push(error)
        return new Response('failed', { status: 500 })
      }
    }
    const server = serveFetch({ fetch: guarded, port: 0, hostname: '127.0.0.1' }) as Server
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    await new Promise<void>((resolve) => (server.listening ? resolve() : server.once('listening', resolve)))
    const { port } = server.address() as AddressInfo
    return { port, ask: askHttp1(port), errors }
  },
}

export const fronts: readonly Front[] = [
  expressFront('Express 4', express4 as unknown as typeof express5),
  expressFront('Express 5', express5),
  fastifyFront(1),
  fastifyFront(2),
  koaFront(1),
  koaFront(2),
  nestFront('Express'),
  nestFront('Fastify'),
  nodeFront(1),
  nodeFront(2),
  fetchFront,
]
