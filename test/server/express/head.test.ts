import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type { Express, RequestHandler } from 'express'
import { describe, expect, it, vi } from 'vitest'
import { handStore, majors, serve } from './helper.js'

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1 })
const limit = () => rateLimit({ policies: [burst], store: handStore().store })
const done: RequestHandler = (_req, res) => void res.send('handled')
const pass: RequestHandler = (_req, _res, next) => next()

type WriteHead = (status: number, ...rest: unknown[]) => unknown

/** Wraps `writeHead` of something that has or inherits one, and notes whether limits were stated by then. */
function watch(target: { writeHead: unknown }, seen: boolean[]): void {
  const inherited = target.writeHead as WriteHead
  Object.assign(target, {
    writeHead(this: ServerResponse, ...args: Parameters<WriteHead>) {
      seen.push(this.hasHeader('RateLimit'))
      return inherited.apply(this, args)
    },
  })
}

describe.each(majors)('Where a request goes after it was limited on %s,', (_, express) => {
  async function expectStated(app: Express): Promise<void> {
    const { ask } = await serve(app)
    // The second answer is the first that finds everything set up.
    for (const left of [9, 8]) {
      const { body, raw } = await ask('/')
      expect(body).toBe('handled')
      expect(raw.filter(([name]) => name === 'RateLimit')).toEqual([
        ['RateLimit', expect.stringMatching(`^"burst";r=${left};[^,]*$`)],
      ])
    }
  }
  const limited = () => express().use(limit())

  it('another res.locals is no matter', async () => {
    const app = limited().use((_req, res, next) => {
      res.locals = {}
      next()
    })
    await expectStated(app.get('/', done))
  })

  it.each([
    ['mounted', (app: Express) => app as RequestHandler],
    [
      'called by hand',
      (app: Express): RequestHandler =>
        (req, res, next) =>
          app(req, res, next),
    ],
  ])('an app that is %s states its limits', async (_, how) => {
    await expectStated(limited().use(how(express().get('/', done))))
  })

  it('the app around the one that it was limited in states its limits', async () => {
    await expectStated(express().use(limited()).get('/', done))
  })

  it('an app with a writeHead of its own has that called, once, and states its limits', async () => {
    const seen: boolean[] = []
    const inner = express().use(limit())
    watch(inner.response, seen)
    await expectStated(inner.get('/', done))
    expect(seen).toEqual([true, true])
  })

  it('middleware that wraps writeHead later is called before the limits are stated, as elsewhere', async () => {
    const seen: boolean[] = []
    const app = limited().use((_req, res, next) => {
      watch(res, seen)
      next()
    })
    await expectStated(app.get('/', done))
    expect(seen).toEqual([false, false])
  })

  it('middleware that has wrapped writeHead before is called once they are', async () => {
    const seen: boolean[] = []
    const app = express().use((_req, res, next) => {
      watch(res, seen)
      next()
    })
    await expectStated(app.use(limit()).get('/', done))
    expect(seen).toEqual([true, true])
  })

  it("who watches all of Node's answers sees them with their limits", async () => {
    const app = limited().get('/', done)
    await expectStated(app)
    const writeHead = vi.spyOn(ServerResponse.prototype, 'writeHead')
    try {
      const { ask } = await serve(app)
      expect((await ask('/')).headers.ratelimit).toContain('"burst";r=7')
      expect(writeHead).toHaveBeenCalledTimes(1)
    } finally {
      writeHead.mockRestore()
    }
  })

  it('an app without limits states none', async () => {
    await expectStated(limited().get('/', done))
    const { ask } = await serve(express().use(pass).get('/', done))
    expect((await ask('/')).headers).not.toHaveProperty('ratelimit')
  })
})

it('One request that is answered twice, as tests do, is limited each time', async () => {
  const warnings: string[] = []
  const twice = rateLimit({
    policies: [burst],
    store: handStore().store,
    partition: () => 'one',
    onWarning: (text) => void warnings.push(text),
  })
  const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/' })
  for (const left of [9, 8]) {
    const response = new ServerResponse(request)
    await new Promise<void>((next) => twice(request as never, response as never, () => next()))
    expect(response.writeHead(200).getHeader('RateLimit')).toContain(`r=${left};`)
  }
  expect(warnings).toEqual([])
})
