import { createServer } from 'node:http'
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import Router from '@koa/router'
import { type ExecutionContext, Module, UseGuards } from '@nestjs/common'
import { createLimiter, fixedWindow, tokenBucket } from '@ratepact/server'
import { type Denied, rateLimit as fastifyLimit, rateLimitPlugin } from '@ratepact/server/fastify'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimitGuard, rateLimitModule } from '@ratepact/server/nest'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import Koa from 'koa'
import { expect, expectTypeOf, it } from 'vitest'

// What follows is checked by the compiler.
const policies = [
  tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 }),
  fixedWindow({ name: 'daily', quota: 1000, windowSeconds: 86_400, by: 'account' }),
] as const
const limiter = createLimiter({ policies })
const byClient = [policies[0]] as const
const plans = { free: byClient, gold: byClient } as const
const planned = createLimiter({ plans })
const planless = createLimiter({ policies: byClient })

it('fit Fastify, as a hook of an app or a route and as a plugin, with its own types in functions', () => {
  const app = Fastify()
  app.register(rateLimitPlugin({ policies: byClient }))
  app.addHook('onRequest', fastifyLimit({ policies: byClient }))
  app.addHook('preHandler', fastifyLimit({ policies: byClient }))
  const onRequest = fastifyLimit({
    limiter,
    partition: (request: FastifyRequest) => ({ client: request.ip, account: String(request.query) }),
    cost: { burst: 2 },
    onDenied(_request, reply: FastifyReply, decision) {
      expectTypeOf(decision).toEqualTypeOf<Denied<'burst' | 'daily'>>()
      return reply.code(503).send()
    },
  })
  app.get('/', { onRequest }, () => 'done')
  app.get('/list', { onRequest: [onRequest], preHandler: [onRequest] }, () => 'done')
  app.get('/awaited', async () => 'done')
  const http2 = Fastify({ http2: true })
  http2.register(rateLimitPlugin({ policies: byClient }))
  http2.get('/', { onRequest }, () => 'done')
})

it('fit Koa and its router, with their own types in functions', () => {
  const app = new Koa<{ user: string }>()
  app.use(koaLimit({ policies: byClient }))
  const router = new Router()
  router.use(koaLimit({ policies: byClient }))
  router.get(
    '/',
    koaLimit({
      limiter,
      partition: (ctx: Koa.Context) => ({ client: ctx.ip, account: ctx.get('x-account') }),
      onDenied(ctx, decision) {
        expectTypeOf(decision).toEqualTypeOf<Denied<'burst' | 'daily'>>()
        ctx.body = 'slow down'
      },
    }),
    (ctx) => {
      ctx.body = 'done'
    },
  )
})

it('fit Nest, as a guard and as a module, with its own types in functions', () => {
  const guard = rateLimitGuard({
    limiter,
    partition: (request, context: ExecutionContext) => ({
      client: request.ip,
      account: context.switchToHttp().getRequest<{ account: string }>().account,
    }),
    onDenied: (_request, _context, decision) => {
      expectTypeOf(decision).toEqualTypeOf<Denied<'burst' | 'daily'>>()
    },
  })
  class App {}
  UseGuards(guard)(App)
  Module({ imports: [rateLimitModule({ policies: byClient })] })(App)
})

it('fit servers of Node without a framework, with the types of each', () => {
  const limit = nodeLimit({ policies: byClient, onError: (_error, _request, response) => response.end() })
  createServer(limit((_request, response) => response.end('done')))
  createHttp2Server(
    limit((request: Http2ServerRequest, response: Http2ServerResponse) =>
      response.end(String(request.stream.id)),
    ),
  )
})

it('a plan is known from the plans or the limiter, else told per call', () => {
  const limits = [
    koaLimit({ plans, plan: 'gold' }),
    koaLimit({ plans, defaultPlan: 'free' }),
    koaLimit({ plans, plan: (ctx) => (ctx.headers.plan === undefined ? 'free' : 'gold') }),
    koaLimit({ limiter: planned, plan: 'free' }),
    koaLimit({ limiter: planned, plan: async (ctx) => String(ctx.headers.plan) }),
  ]
  expect(limits).toHaveLength(5)
})

it('make mistakes errors of the compiler', () => {
  const partition = () => ({ client: 'a', account: 'b' })
  const mistakes = [
    // @ts-expect-error a kind that is counted and not named
    () => fastifyLimit({ limiter }),
    // @ts-expect-error a kind left out
    () => koaLimit({ limiter, partition: () => ({ client: 'a' }) }),
    // @ts-expect-error a policy that is not there
    () => rateLimitGuard({ limiter, partition, cost: { brust: 1 } }),
    // @ts-expect-error a policy that is not there
    () => nodeLimit({ policies, partition, cost: () => ({ brust: 1 }) }),
    // @ts-expect-error both
    () => rateLimitPlugin({ limiter, policies, partition }),
    // @ts-expect-error of node alone
    () => koaLimit({ policies: byClient, onError: () => {} }),
    // @ts-expect-error a plan that there is not
    () => koaLimit({ plans, plan: 'gld' }),
    // @ts-expect-error no plan at all
    () => koaLimit({ plans }),
    // @ts-expect-error a plan where there are none
    () => koaLimit({ policies: byClient, plan: 'gold' }),
    // @ts-expect-error a plan that the limiter has not
    () => koaLimit({ limiter: planned, plan: 'gld' }),
    // @ts-expect-error a plan of a limiter without plans
    () => koaLimit({ limiter: planless, plan: 'gold' }),
    // @ts-expect-error a plan that there is not
    () => nodeLimit({ plans, plan: 'gld' }),
    // @ts-expect-error no plan at all
    () => nodeLimit({ plans }),
    // @ts-expect-error a plan where there are none
    () => nodeLimit({ policies: byClient, plan: 'gold' }),
    // @ts-expect-error a plan that the limiter has not
    () => nodeLimit({ limiter: planned, plan: 'gld' }),
    // @ts-expect-error a plan of a limiter without plans
    () => nodeLimit({ limiter: planless, plan: 'gold' }),
  ]
  expect(mistakes).toHaveLength(16)
})
