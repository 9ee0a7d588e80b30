import type { Limiter } from '@ratepact/server'
import { rateLimitPlugin } from '@ratepact/server/fastify'
import Fastify, { type FastifyInstance } from 'fastify'

export async function fastifyApp(limiter: Limiter<string, 'client'>): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(rateLimitPlugin({ limiter }))
  app.get('/orders', async () => [])
  return app
}
