import { createServer, type Server } from 'node:http'
import type { Limiter } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/node'

export function nodeServer(limiter: Limiter<string, 'client'>): Server {
  const limit = rateLimit({ limiter })
  return createServer(
    limit((_request, response) => {
      response.setHeader('Content-Type', 'application/json')
      response.end('[]')
    }),
  )
}
