import type { Limiter } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import express from 'express'

export function expressApp(limiter: Limiter<string, 'client'>): express.Express {
  const app = express()
  app.use(rateLimit({ limiter }))
  app.get('/orders', (_req, res) => void res.json([]))
  return app
}
