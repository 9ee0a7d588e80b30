import { createLimiter, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type express5 from 'express'
import { describe, expect, it } from 'vitest'
import { handStore, majors, serve } from './helper.js'

type Express = typeof express5
type Answered = Awaited<ReturnType<Awaited<ReturnType<typeof serve>>['ask']>>

/** A limiter that counts per scope, and of how much is left the units that a call found used. */
function perScope() {
  return createLimiter({
    store: handStore().store,
    policies: [tokenBucket({ name: 'scoped', capacity: 100, refillPerSecond: 1, perScope: true })],
  })
}
function used({ headers }: Answered): number {
  return 100 - Number(/;r=(\d+)/.exec(String(headers.ratelimit))?.[1])
}
function keyOf({ headers }: Answered): string | undefined {
  return /;pk=(:[^:]+:)/.exec(String(headers.ratelimit))?.[1]
}

/** Where limiters are mounted, and paths that are one scope each. */
const layouts: readonly (readonly [
  what: string,
  build: (express: Express, limit: ReturnType<typeof rateLimit>) => express5.Express,
  scopes: readonly (readonly string[])[],
])[] = [
  [
    'a route',
    (express, limit) => {
      const app = express()
      app.all('/x', limit, (_req, res) => void res.end())
      app.get('/y', limit, (_req, res) => void res.end())
      return app
    },
    [['/x', '/x?y=1', '/x/', '/X', '/x#a', '/x?', '/X/?a=%2e'], ['/y']],
  ],
  [
    'a route with parameters',
    (express, limit) => {
      const app = express()
      app.get('/orders/:id', limit, (_req, res) => void res.end())
      app.get('/orders/:id/items/:item', limit, (_req, res) => void res.end())
      return app
    },
    [
      [
        '/orders/1',
        '/orders/2',
        '/ORDERS/3/',
        '/orders/%2e',
        '/orders/%2e%2e',
        '/orders/a%2fb',
        '/orders/:id',
      ],
      ['/orders/1/items/1', '/orders/2/items/2', '/orders/items/items/orders'],
    ],
  ],
  [
    'a router under a path',
    (express, limit) => {
      const [app, router] = [express(), express.Router()]
      router.get('/', limit, (_req, res) => void res.end())
      router.get('/orders', limit, (_req, res) => void res.end())
      app.use('/api', router)
      app.use('/v2', router)
      return app
    },
    [['/api', '/api/', '/API?x'], ['/api/orders', '/Api/Orders/'], ['/v2/orders'], ['/v2']],
  ],
  [
    'a router under a parameter',
    (express, limit) => {
      const [app, router] = [express(), express.Router()]
      router.get('/x', limit, (_req, res) => void res.end())
      app.use('/a/:id', router)
      app.use('/b/:id', router)
      return app
    },
    [
      ['/a/1/x', '/a/2/x', '/A/3/X/', '/a/a/x', '/a/b/x', '/a/x/x', '/a/%2e/x', '/a/:id/x'],
      ['/b/1/x', '/b/a/x'],
    ],
  ],
  [
    'routers in routers, used as a whole',
    (express, limit) => {
      const [app, outer, inner, innermost] = [express(), express.Router(), express.Router(), express.Router()]
      innermost.use(limit)
      innermost.get('/x', (_req, res) => void res.end())
      inner.use('/', innermost)
      outer.use('/teams/:team', inner)
      app.use('/:tenant', outer)
      return app
    },
    [['/acme/teams/1/x', '/acme/teams/2/x', '/other/teams/teams/X', '/teams/teams/teams/x']],
  ],
  [
    'a middleware under a parameter',
    (express, limit) => {
      const app = express()
      app.use('/plain/:id', (_req, _res, next) => next())
      app.use('/:kind/:id', limit)
      app.use('/fixed', limit)
      app.use((_req, res) => void res.end())
      return app
    },
    [['/plain/1', '/plain/2/and/more', '/other/3']],
  ],
  [
    'a middleware before all routing',
    (express, limit) => {
      const app = express()
      app.use(limit)
      app.get('/x', (_req, res) => void res.end())
      return app
    },
    [['/x', '/y', '/z/z/z', '//x', '/%2e', '/']],
  ],
  [
    'an app in an app',
    (express, limit) => {
      const [app, inner, router] = [express(), express(), express.Router()]
      router.get('/x', limit, (_req, res) => void res.end())
      inner.use('/r/:id', router)
      inner.get('/y', limit, (_req, res) => void res.end())
      app.use('/apps/:app', inner)
      return app
    },
    [
      ['/apps/1/r/1/x', '/apps/2/r/2/x', '/apps/r/r/apps/x'],
      ['/apps/1/y', '/apps/2/y'],
    ],
  ],
  [
    'expressions and lists of paths',
    (express, limit) => {
      const [app, router] = [express(), express.Router()]
      router.get(['/x', '/y'], limit, (_req, res) => void res.end())
      router.get(/^\/z\d+$/, limit, (_req, res) => void res.end())
      app.use(/\/r\d+/, router)
      app.use(['/p/:one', '/q/:two'], router)
      return app
    },
    [
      ['/r1/x', '/r22/y', '/r333/x/'],
      ['/r1/z1', '/r2/z22'],
    ],
  ],
  [
    'a wrapper of the user around it',
    (express, limit) => {
      const [app, router] = [express(), express.Router()]
      router.use((req, res, next) => limit(req, res, next))
      router.get('/x', (_req, res) => void res.end())
      app.use('/a/:id', router)
      app.use('/b/:id', router)
      return app
    },
    [['/a/1/x', '/a/2/x', '/a/a/y'], ['/b/1/x']],
  ],
  [
    'a router that contains itself',
    (express, limit) => {
      const [app, router] = [express(), express.Router()]
      router.get('/x', limit, (_req, res) => void res.end())
      router.use('/:deeper', router)
      app.use('/r', router)
      return app
    },
    [['/r/1/x', '/r/2/x'], ['/r/x'], ['/r/1/1/x']],
  ],
]

describe.each(majors)('A bucket per scope on %s', (_, express) => {
  it.each(layouts)(
    'is shared by every spelling of a path and by all values of it: %s',
    async (_, build, scopes) => {
      const { ask } = await serve(build(express, rateLimit({ limiter: perScope() })))
      const keys = new Set<string | undefined>()
      for (const paths of scopes) {
        for (const [i, path] of paths.entries()) {
          const answer = await ask(path)
          expect([path, used(answer)]).toEqual([path, i + 1])
          keys.add(keyOf(answer))
        }
      }
      expect(keys.size).toBe(scopes.length)
    },
  )

  it('tells methods apart, takes HEAD for GET, and puts methods it does not know together', async () => {
    const app = express()
    app.all('/x', rateLimit({ limiter: perScope() }), (_req, res) => void res.end())
    const { ask } = await serve(app)
    const counts: Record<string, number> = {}
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'GET', 'PURGE', 'PROPFIND', 'MKCOL'])
      counts[method] = used(await ask('/x', { method }))
    expect(counts).toEqual({ GET: 3, HEAD: 2, POST: 1, PUT: 1, OPTIONS: 1, PURGE: 1, PROPFIND: 2, MKCOL: 3 })
  })

  it('is one for whatever method a header puts in place of the real one', async () => {
    const app = express()
    app.use((req, _res, next) => {
      req.method = String(req.headers['x-http-method-override'])
      next()
    })
    app.use(rateLimit({ limiter: perScope() }), (_req, res) => void res.end())
    const { ask } = await serve(app)
    const answers = []
    for (const method of ['MADE', 'UP', 'made-up', '', 'é'])
      answers.push(used(await ask('/x', { headers: { 'x-http-method-override': method } })))
    expect(answers).toEqual([1, 2, 3, 4, 5])
  })

  it('has the name that the user gives it', async () => {
    const app = express()
    const limiter = perScope()
    app.get('/a', rateLimit({ limiter, scope: 'reads' }), (_req, res) => void res.end())
    app.get(
      '/b',
      rateLimit({ limiter, scope: async (req) => (req.path === '/b' ? 'reads' : 'x') }),
      (_req, res) => void res.end(),
    )
    const { ask } = await serve(app)
    expect([used(await ask('/a')), used(await ask('/b'))]).toEqual([1, 2])
  })

  it('is the same for the same route in another process', async () => {
    const keys: (string | undefined)[] = []
    for (const extra of [false, true]) {
      const app = express()
      if (extra) app.use('/more', express.Router())
      const router = express.Router()
      router.get('/x', rateLimit({ limiter: perScope() }), (_req, res) => void res.end())
      app.use('/a/:id', router)
      const { ask } = await serve(app)
      keys.push(keyOf(await ask('/a/5/x')))
    }
    expect(keys[0]).toBeDefined()
    expect(keys[0]).toBe(keys[1])
  })

  it('is looked for only where a policy counts per scope', async () => {
    const asked: string[] = []
    const app = express()
    const scope = () => {
      asked.push('scope')
      return 'x'
    }
    app.use(rateLimit({ policies: [tokenBucket({ name: 'all', capacity: 9, refillPerSecond: 1 })], scope }))
    const { ask } = await serve(app)
    await ask('/')
    expect(asked).toEqual([])
  })
})
