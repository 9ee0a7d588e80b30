import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimitPlugin } from '@ratepact/server/fastify'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import express from 'express'
import Fastify from 'fastify'
import Koa from 'koa'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { handStore } from '../express/helper.js'

let browser: Browser
beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--no-first-run',
    ],
  })
})
afterAll(() => browser?.close())

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const options = () => ({
  policies: [tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 0.1 })] as const,
  store: handStore().store,
})
/** What answers CORS stands before the limit for whom may read, and behind it for preflights: they must pass it. */
const allow = (response: ServerResponse) => response.setHeader('Access-Control-Allow-Origin', '*')
const answer = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.method === 'OPTIONS') response.writeHead(204, { 'Access-Control-Allow-Headers': 'x-api-key' })
  response.end(request.method === 'OPTIONS' ? undefined : 'done')
}

const apis: readonly (readonly [name: string, open: () => Promise<string>])[] = [
  [
    'Express',
    () => {
      const app = express()
      app.use((_req, res, next) => {
        allow(res)
        next()
      })
      app.use(expressLimit(options()), answer)
      return listen(app)
    },
  ],
  [
    'Fastify',
    async () => {
      const app = Fastify()
      app.addHook(
        'onRequest',
        async (_request, reply) => void reply.header('Access-Control-Allow-Origin', '*'),
      )
      await app.register(rateLimitPlugin(options()))
      app.get('/', async () => 'done')
      app.options('/', async (_request, reply) =>
        reply.header('Access-Control-Allow-Headers', 'x-api-key').send(),
      )
      await app.ready()
      onTestFinished(() => app.close())
      return app.listen({ port: 0, host: '127.0.0.1' })
    },
  ],
  [
    'Koa',
    () => {
      const app = new Koa()
      app.use(async (ctx, next) => {
        ctx.set('Access-Control-Allow-Origin', '*')
        await next()
      })
      app.use(koaLimit(options()))
      app.use((ctx) => {
        if (ctx.method === 'OPTIONS') ctx.set('Access-Control-Allow-Headers', 'x-api-key')
        ctx.body = 'done'
      })
      return listen(app.callback())
    },
  ],
  [
    'node:http',
    () => {
      const limited = nodeLimit(options())(answer)
      return listen((request, response) => {
        allow(response)
        limited(request, response)
      })
    },
  ],
]

describe.each(apis)('A page of another origin, calling %s', (_name, open) => {
  it('reads what is left and when to come back, of a 200 and of a 429; its preflights are not counted', async () => {
    const url = await open()
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    await page.goto(await listen((_request, response) => void response.end('<title>page</title>')))
    const read = await page.evaluate(async (api) => {
      const answers: unknown[] = []
      for (const key of ['one', 'two', 'three']) {
        // A field of its own makes the browser ask first.
        const { status, headers } = await fetch(api, { headers: { 'x-api-key': key } })
        const names = ['ratelimit', 'ratelimit-policy', 'retry-after', 'retry-after-ms']
        answers.push([status, ...names.map((name) => headers.get(name))])
      }
      return answers
    }, url)
    const policy = '"burst";q=2;w=20;ratepact-refill="bucket"'
    expect(read).toEqual([
      [200, '"burst";r=1;t=10;ratepact-t-ms=10000', policy, null, null],
      [200, '"burst";r=0;t=10;ratepact-t-ms=10000', policy, null, null],
      [429, '"burst";r=0;t=10;ratepact-t-ms=10000', policy, '10', '10000'],
    ])
  })
})
