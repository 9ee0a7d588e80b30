import { createLimiter, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { build } from 'esbuild'
import express, { type RequestHandler } from 'express'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { serve, type TestServer } from './http.js'

let browser: Browser
/** The client as one script. */
let script: string

beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: { contents: "export * from '@ratepact/client'", resolveDir: import.meta.dirname },
    conditions: ['@ratepact/source'],
    ...{ platform: 'browser', format: 'iife', globalName: 'ratepact', bundle: true, write: false },
  })
  script = outputFiles[0]?.text ?? ''
  const quiet = [
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ]
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet],
  })
})
afterAll(() => browser?.close())

/** A page of an origin of its own, with the client in it. */
async function openPage(): Promise<{ page: Page; origin: TestServer }> {
  const server = await serve(({ path }, response) => {
    if (path === '/') response.writeHead(200, { 'content-type': 'text/html' }).end('<title>page</title>')
    else response.end(path)
  })
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  await page.goto(server.url)
  await page.addScriptTag({ content: script })
  return { page, origin: server }
}

/** An API of another origin that lets pages call it, with whatever limits it. */
async function startApi(limit: RequestHandler) {
  const app = express()
  const seen: {
    method: string
    status: () => number
    instance: string | undefined
    key: string | undefined
  }[] = []
  app.use((req, res, next) => {
    const [instance, key] = [req.get('ratepact-instance'), req.get('idempotency-key')]
    seen.push({ method: req.method, status: () => res.statusCode, instance, key })
    res.set({ 'access-control-allow-origin': '*' })
    next()
  })
  app.use(limit)
  app.all('/orders', (_req, res) => void res.send('ok'))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { url: `http://127.0.0.1:${port}/orders`, seen }
}

const policies = [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 10 })]
const bucket = () => rateLimit({ policies, partition: () => 'all' }) as RequestHandler

/** Makes calls in the page; each statement of it runs there. */
function callAll(page: Page, url: string, calls: number, options: object = {}) {
  return page.evaluate(
    async ({ url, calls, options }) => {
      const { createFetch } = (globalThis as never as { ratepact: typeof import('@ratepact/client') })
        .ratepact
      const refused: unknown[] = []
      const api = createFetch({
        ...options,
        onEvent: (event) => event.type === 'refused' && refused.push(event.retryAfterSeconds),
      })
      const answers = await Promise.all(Array.from({ length: calls }, () => api(url, { method: 'POST' })))
      const texts = await Promise.all(answers.map((answer) => answer.text()))
      return { texts, refused, limits: api.limits(url, { method: 'POST' }) }
    },
    { url, calls, options },
  )
}

describe('In a page, calls to another origin', () => {
  it('are paced by the fields that it exposes', async () => {
    const { page } = await openPage()
    const api = await startApi(bucket())
    const { texts, refused, limits } = await callAll(page, api.url, 15)
    expect(texts).toEqual(Array(15).fill('ok'))
    expect(limits).toMatchObject([{ policy: 'burst', quota: 5 }])
    // Ten would be, sent at once; paced calls may still pile up before a page that stands still.
    expect(refused.length).toBeLessThan(5)
    expect(new Set(api.seen.map(({ method }) => method))).toEqual(new Set(['POST']))
  })

  it('are sent again after a refusal, when it said', async () => {
    const { page } = await openPage()
    const limiter = createLimiter({ policies })
    const limit = rateLimit({ limiter, partition: () => 'all' }) as RequestHandler
    let taken: Promise<unknown> | undefined
    const api = await startApi(async (req, res, next) => {
      taken ??= limiter.consume('all', { cost: 5 })
      await taken
      return limit(req, res, next)
    })
    const { texts, refused } = await callAll(page, api.url, 1)
    expect(texts).toEqual(['ok'])
    expect(refused).toEqual([expect.any(Number)])
    expect(api.seen.map(({ status }) => status())).toEqual([429, 200])
  })

  it('read Retry-After of a 429, and of a 200 what it exposes', async () => {
    const { page } = await openPage()
    let number = 0
    const api = await startApi((_req, res) => {
      number += 1
      const exposed = { 'access-control-expose-headers': 'RateLimit, RateLimit-Policy, Retry-After' }
      const limits = { ratelimit: '"a";r=3;t=5', 'ratelimit-policy': '"a";q=4;w=7' }
      if (number === 1)
        res
          .status(429)
          .set({ ...exposed, 'retry-after': '1' })
          .send('no')
      else res.set({ ...exposed, ...limits, 'retry-after': '60' }).send('ok')
    })
    const { texts, refused, limits } = await callAll(page, api.url, 1)
    expect({ texts, refused }).toEqual({ texts: ['ok'], refused: [1] })
    expect(limits).toMatchObject([{ policy: 'a', quota: 4, windowSeconds: 7, available: 3 }])
  })

  it('go through where nothing is exposed, too', async () => {
    const { page } = await openPage()
    let number = 0
    const api = await startApi((_req, res) => {
      number += 1
      res
        .status(number === 1 ? 429 : 200)
        .set({ 'retry-after': '1' })
        .send('ok')
    })
    expect(await callAll(page, api.url, 3)).toEqual({
      texts: ['ok', 'ok', 'ok'],
      refused: [undefined],
      limits: [],
    })
  })

  it('carry no field of the client’s own, for which a browser would ask first', async () => {
    const { page, origin } = await openPage()
    const api = await startApi((_req, _res, next) => next())
    const options = { tellInstance: true, retry: { idempotencyKey: true } }
    await callAll(page, api.url, 2, options)
    expect(api.seen.map(({ method, instance, key }) => [method, instance, key])).toEqual(
      Array(2).fill(['POST', undefined, undefined]),
    )
    // To the page's own origin they go.
    expect((await callAll(page, `${origin.url}/own`, 1, options)).texts).toEqual(['/own'])
    expect(origin.seen.at(-1)?.headers).toMatchObject({
      'ratepact-instance': expect.stringMatching(/^[0-9a-f]{16}$/),
      'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/),
    })
  })

  it('end at once when they are aborted while they wait', async () => {
    const { page } = await openPage()
    const api = await startApi(bucket())
    const reason = await page.evaluate(async (url) => {
      const { createFetch } = (globalThis as never as { ratepact: typeof import('@ratepact/client') })
        .ratepact
      const client = createFetch()
      const stop = new AbortController()
      const first = Promise.all(Array.from({ length: 4 }, () => client(url, { method: 'POST' })))
      const waiting = client(url, { method: 'POST', signal: stop.signal })
      stop.abort(new Error('enough'))
      const reason = await waiting.catch((error: Error) => error.message)
      await first
      return reason
    }, api.url)
    expect(reason).toBe('enough')
    expect(api.seen).toHaveLength(4)
  })
})
