import Router from '@koa/router'
import type { Limiter } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/koa'
import Koa from 'koa'

export function koaApp(limiter: Limiter<string, 'client'>): Koa {
  const router = new Router()
  router.get('/orders', rateLimit({ limiter }), (ctx) => {
    ctx.body = []
  })
  const app = new Koa()
  app.use(router.routes())
  return app
}
