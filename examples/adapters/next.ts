// app/orders/[id]/route.ts
import type { Limiter } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'

interface Context {
  readonly params: Promise<{ readonly id: string }>
}

export function nextRoute(limiter: Limiter<string, 'client'>) {
  const limit = rateLimit({
    limiter,
    partition: (request) => request.headers.get('x-api-key') ?? undefined,
    scope: 'GET /orders/[id]',
  })
  const GET = limit(async (_request: Request, { params }: Context) =>
    Response.json({ id: (await params).id }),
  )
  return { GET }
}
