import { getConnInfo } from '@hono/node-server/conninfo'
import type { Limiter } from '@ratepact/server'
import { rateLimit, scopeOf } from '@ratepact/server/fetch'
import { type Context, Hono } from 'hono'
import { matchedRoutes, routePath } from 'hono/route'

/** The route that answers: of all that match, the first that is not middleware, which takes `next`, too. */
function routeOf(c: Context): string {
  return matchedRoutes(c).find(({ handler }) => handler.length < 2)?.path ?? routePath(c, -1)
}

export function honoApp(limiter: Limiter<string, 'client'>): Hono {
  const limit = rateLimit({
    limiter,
    address: (_request, c: Context) => getConnInfo(c).remote.address,
    scope: (_request, c: Context) => scopeOf(c.req.method, routeOf(c)),
  })
  const app = new Hono()
  app.use(async (c, next) => {
    const handle = limit(async (_request: Request, _c: Context) => {
      await next()
      return c.res
    })
    const answer = await handle(c.req.raw, c)
    // Hono would put the fields of an answer that is there already over those of the new one.
    c.res = undefined
    c.res = answer
  })
  app.get('/orders', (c) => c.json([]))
  return app
}
