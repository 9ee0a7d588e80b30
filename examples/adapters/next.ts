// app/orders/[id]/route.ts
import type { Limiter } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'

interface Context {
  readonly params: Promise<{ readonly id: string }>
}

/** Who calls, from a session or a token that was checked: never what a request says of itself. */
type ClientOf = (request: Request) => string | undefined

export function nextRoute(limiter: Limiter<string, 'client'>, clientOf: ClientOf) {
  const limit = rateLimit({
    limiter,
    partition: clientOf,
    scope: 'GET /orders/[id]',
  })
  const order = limit(async (_request: Request, { params }: Context) =>
    Response.json({ id: (await params).id }),
  )
  // Next tells no address, by which strangers could be counted.
  const GET = async (request: Request, context: Context) =>
    clientOf(request) === undefined ? new Response(null, { status: 401 }) : order(request, context)
  return { GET }
}
