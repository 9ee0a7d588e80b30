import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import { Controller, Get, Module, RequestMethod, UseGuards, VersioningType } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import { rateLimit as fastifyLimit, rateLimitPlugin } from '@ratepact/server/fastify'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimitGuard, rateLimitModule } from '@ratepact/server/nest'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import Fastify, { type FastifyInstance } from 'fastify'
import Koa from 'koa'
import mount from 'koa-mount'
import { describe, expect, it, onTestFinished } from 'vitest'
import { handStore } from '../express/helper.js'
import { type Ask, askHttp1 } from './ask.js'
import 'reflect-metadata'

/** Paths that are one scope each, of routes that say which scope they take a call for. */
type Scopes = readonly (readonly string[])[]
type Layout = readonly [what: string, open: (limiter: Limiter) => Promise<number>, scopes: Scopes]

async function portOf(server: Server): Promise<number> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
const listen = (listener: RequestListener) => portOf(createServer(listener))

async function fastify(build: (app: FastifyInstance) => unknown, options: object = {}): Promise<number> {
  const app = Fastify(options) as FastifyInstance
  await build(app)
  onTestFinished(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

const done = async (): Promise<string> => 'done'
const body: Koa.Middleware = (ctx) => {
  ctx.body = 'done'
}

async function nest(platform: 'Express' | 'Fastify', limiter: Limiter, global: boolean): Promise<number> {
  class Orders {
    list(): string {
      return 'list'
    }
    one(): string {
      return 'one'
    }
  }
  const route = (name: 'list' | 'one', path: string) =>
    Get(path)(Orders.prototype, name, Object.getOwnPropertyDescriptor(Orders.prototype, name) as never)
  route('list', '/')
  route('one', ':id')
  if (!global) UseGuards(rateLimitGuard({ limiter }))(Orders)
  Controller({ path: 'teams/:team/orders', version: '1' })(Orders)
  class App {}
  Module({ controllers: [Orders], imports: global ? [rateLimitModule({ limiter })] : [] })(App)
  const adapter = platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter()
  const app = await NestFactory.create(App, adapter as never, { logger: false })
  app.setGlobalPrefix('api', { exclude: [{ path: 'health', method: RequestMethod.GET }] })
  app.enableVersioning({ type: VersioningType.URI })
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  return (app.getHttpServer().address() as AddressInfo).port
}
const NEST: Scopes = [
  [
    '/api/v1/teams/a/orders',
    '/api/v1/teams/b/orders?x=1',
    '/api/v1/teams/orders/orders',
    '/api/v1/teams/%2e/orders',
  ],
  [
    '/api/v1/teams/a/orders/1',
    '/api/v1/teams/b/orders/2',
    '/api/v1/teams/a/orders/%2e%2e',
    '/api/v1/teams/a/orders/a%2fb',
  ],
]

const layouts: readonly Layout[] = [
  [
    'Fastify: a plugin of the app, which knows the route before it is run',
    (limiter) =>
      fastify(async (app) => {
        await app.register(rateLimitPlugin({ limiter }))
        app.get('/x', done)
        app.get('/orders/:id', done)
        app.get('/files/*', done)
      }),
    [
      ['/x', '/x?y=1', '/x?', '/x?a=%2e', '/x#a'],
      ['/orders/1', '/orders/2', '/orders/%2e', '/orders/a%2fb', '/orders/:id'],
      ['/files/a', '/files/a/b', '/files//', '/files/%2e%2e/x'],
      ['/none', '/X', '/nor/this', '//x', '/%2e/y', '/'],
    ],
  ],
  [
    'Fastify: routes under prefixes, called loosely',
    (limiter) =>
      fastify(
        (app) => {
          const onRequest = fastifyLimit({ limiter })
          const orders = async (inner: FastifyInstance): Promise<void> => {
            inner.get('/', { onRequest }, done)
            inner.get('/:id/', { onRequest }, done)
          }
          app.register(async (outer) => outer.register(orders, { prefix: '/orders' }), {
            prefix: '/teams/:team',
          })
          app.register(orders, { prefix: '/orders' })
        },
        { routerOptions: { ignoreTrailingSlash: true, caseSensitive: false, ignoreDuplicateSlashes: true } },
      ),
    [
      ['/teams/1/orders', '/teams/2/orders/', '/TEAMS/3/Orders', '//teams/4/orders', '/teams/orders/orders'],
      ['/teams/1/orders/1', '/teams/2/orders/2/', '/teams/2//orders/%2e'],
      ['/orders', '/orders/', '/ORDERS?x'],
      ['/orders/1', '/orders/2/'],
    ],
  ],
  [
    'Koa: routes of a router in a router under prefixes',
    (limiter) => {
      const [app, outer, inner] = [
        new Koa(),
        new Router({ prefix: '/teams/:team' }),
        new Router({ prefix: '/orders' }),
      ]
      const limit = koaLimit({ limiter })
      inner.get('/', limit, body)
      inner.get('/:id', limit, body)
      outer.use(inner.routes())
      app.use(outer.routes())
      return listen(app.callback())
    },
    [
      [
        '/teams/1/orders',
        '/teams/2/orders/',
        '/TEAMS/3/Orders?x=1',
        '/teams/orders/orders',
        '/teams/%2e/orders',
      ],
      ['/teams/1/orders/1', '/teams/2/orders/2', '/teams/orders/orders/orders', '/teams/1/orders/a%2fb'],
    ],
  ],
  [
    'Koa: a router as a whole, and whatever is before all routers',
    (limiter) => {
      const [app, router] = [new Koa(), new Router({ prefix: '/teams/:team' })]
      router.use(koaLimit({ limiter }))
      router.get('/a', body)
      router.get('/b/:id', body)
      app.use(router.routes())
      app.use(koaLimit({ limiter }))
      return listen(app.callback())
    },
    [
      ['/teams/1/a', '/teams/2/a/', '/teams/3/b/1', '/teams/a/b/2', '/TEAMS/4/B/3?x'],
      ['/x', '/y', '/z/z', '//x', '/%2e', '/?a', '/teams'],
    ],
  ],
  [
    'Koa: apps that are mounted, and what comes after a mount has passed a call on',
    (limiter) => {
      const [app, inner, router] = [new Koa(), new Koa(), new Router()]
      router.get('/x/:id', koaLimit({ limiter }), body)
      inner.use(router.routes())
      app.use(mount('/one', inner))
      app.use(mount('/two', inner))
      app.use(mount('/only', koaLimit({ limiter }) as Koa.Middleware))
      app.use(koaLimit({ limiter }))
      return listen(app.callback())
    },
    [
      ['/one/x/1', '/one/x/2?y', '/one/x/one', '/one/X/3'],
      ['/two/x/1', '/two/x/x'],
      ['/one', '/one/one', '/two/two', '/one/y', '/two/', '/', '/z'],
    ],
  ],
  [
    'Koa: what comes after a mount has passed a call on, whatever the form of the target',
    (limiter) => {
      const app = new Koa()
      app.use(mount('/one', koaLimit({ limiter, skip: () => true }) as Koa.Middleware))
      app.use(koaLimit({ limiter }))
      return listen(app.callback())
    },
    [
      [
        '/one/x',
        'http://api.test/one/x',
        'http://api.test/one/x?y',
        '/one/x#y',
        '/one\\x#',
        '/y',
        'http://api.test/y',
      ],
    ],
  ],
  [
    'Koa: a limiter within a mount, whatever the form of the target',
    (limiter) => listen(new Koa().use(mount('/one', koaLimit({ limiter }) as Koa.Middleware)).callback()),
    [['/one/x', 'http://api.test/one/x', '/one/y?z', '/one\\x#', '/one', 'http://api.test/one']],
  ],
  ['Nest on Express: a guard of the application', (limiter) => nest('Express', limiter, true), NEST],
  ['Nest on Express: a guard of a controller', (limiter) => nest('Express', limiter, false), NEST],
  ['Nest on Fastify: a guard of the application', (limiter) => nest('Fastify', limiter, true), NEST],
  [
    'node:http: one scope, however a call is spelled',
    (limiter) => listen(nodeLimit({ limiter })((_request, response) => response.end())),
    [['/', '/x', '/x?y', '//', '/%2e', '/X/']],
  ],
]

async function used(ask: Ask, path: string, method = 'GET'): Promise<number> {
  const { headers } = await ask(path, { method })
  return 1000 - Number(/;r=(\d+)/.exec(String(headers.ratelimit))?.[1])
}

const perScope = () =>
  createLimiter({
    store: handStore().store,
    policies: [tokenBucket({ name: 'scoped', capacity: 1000, refillPerSecond: 1, perScope: true })],
  })

describe('A bucket per scope', () => {
  it.each(layouts)(
    'is shared by every spelling of a path and all values in it. %s',
    async (_what, open, scopes) => {
      const ask = askHttp1(await open(perScope() as Limiter))
      for (const paths of scopes) {
        const counts: unknown[] = []
        for (const path of paths) counts.push([path, await used(ask, path)])
        expect(counts).toEqual(paths.map((path, i) => [path, i + 1]))
      }
    },
  )

  it.each([
    ['Fastify', (limiter: Limiter) => fastify((app) => app.addHook('onRequest', fastifyLimit({ limiter })))],
    ['Koa', (limiter: Limiter) => listen(new Koa().use(koaLimit({ limiter })).callback())],
    [
      'node:http',
      (limiter: Limiter) => listen(nodeLimit({ limiter })((_request, response) => response.end())),
    ],
  ])(
    'tells methods apart, takes HEAD for GET, and puts methods it does not know together. %s',
    async (_name, open) => {
      const ask = askHttp1(await open(perScope() as Limiter))
      const counts: Record<string, number> = {}
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'GET', 'PURGE', 'PROPFIND'])
        counts[method] = await used(ask, '/x', method)
      expect(counts).toEqual({ GET: 3, HEAD: 2, POST: 1, PUT: 1, OPTIONS: 1, PURGE: 1, PROPFIND: 2 })
    },
  )
})

it('a call that its function names no scope for has that of its route', async () => {
  const limiter = perScope() as Limiter
  const limit = nodeLimit({ limiter, scope: ({ url }) => (url === '/named' ? 'named' : undefined) })
  const ask = askHttp1(await listen(limit((_request, response) => response.end())))
  const counts: unknown[] = []
  for (const [path, method] of [
    ['/named'],
    ['/x', 'GET'],
    ['/x', 'POST'],
    ['/x', 'GET'],
    ['/named'],
  ] as const)
    counts.push(await used(ask, path, method))
  expect(counts).toEqual([1, 1, 1, 2, 2])
})

it('a plugin of Fastify limits the context that it is registered in, and nothing beside it', async () => {
  const limiter = perScope() as Limiter
  const port = await fastify(async (app) => {
    app.register(async (inner) => {
      await inner.register(rateLimitPlugin({ limiter }))
      inner.get('/limited', done)
      inner.register(async (deeper) => void deeper.get('/deeper', done))
    })
    app.get('/free', done)
  })
  const ask = askHttp1(port)
  const limited = async (path: string) => (await ask(path)).headers.ratelimit !== undefined
  expect([await limited('/limited'), await limited('/deeper'), await limited('/free')]).toEqual([
    true,
    true,
    false,
  ])
})
