// A user's code that needs nothing but the language and what every runtime of the web has. It is compiled with the
// packages as published, by several compilers; what is inferred must be inferred by each of them.

import { createFetch, RateLimitError, type RatepactInit } from '@ratepact/client'
import {
  type Clock,
  type FieldResult,
  formatRateLimit,
  formatRateLimitPolicy,
  parseRateLimit,
  parseRetryAfter,
  problem,
  readRateLimitFields,
  type ServiceLimit,
  systemClock,
} from '@ratepact/contract'
import { clientAddress, createLimiter, fixedWindow, memoryStore, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimitPlugin } from '@ratepact/server/fastify'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimitModule } from '@ratepact/server/nest'
import { rateLimit as nodeLimit } from '@ratepact/server/node'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_same: Same<A, B>): void => {}

export function onTheWire(response: Response): readonly ServiceLimit[] {
  const read: FieldResult<ServiceLimit> = parseRateLimit(response.headers.get('ratelimit'))
  const wait: number | undefined = parseRetryAfter(response.headers.get('retry-after'))
  readRateLimitFields((name) => response.headers.get(name))
  formatRateLimitPolicy([{ policy: 'a', quota: wait ?? 1, unit: 'requests', windowSeconds: 1 }])
  formatRateLimit([{ policy: 'a', available: 1, partitionKey: new Uint8Array(8) }], { draft: 'dual' })
  problem('quota-exceeded', { violatedPolicies: ['a'] })
  return read.status === 'ok' ? read.items : []
}

export async function onTheClient(clock: Clock = systemClock): Promise<Response | undefined> {
  const api = createFetch({ clock, maxWaitSeconds: 30, onEvent: (event) => console.log(event.type) })
  const init: RatepactInit = { method: 'POST', rateLimit: { cost: 2, priority: 1, maxWaitSeconds: 5 } }
  try {
    return await api('https://api.example/orders', init)
  } catch (error) {
    if (!(error instanceof RateLimitError)) throw error
    same<typeof error.reason, 'max-wait' | 'queue-full' | 'deadline' | 'closed'>(true)
    void api.close()
    return undefined
  }
}

export async function onTheServer(): Promise<number> {
  const limiter = createLimiter({
    store: memoryStore(),
    policies: [
      tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 }),
      fixedWindow({ name: 'daily', quota: 1000, windowSeconds: 86_400, by: 'account' }),
    ],
  })
  const decision = await limiter.consume({ client: 'a', account: 'b' }, { cost: { burst: 2 } })
  // @ts-expect-error: account is missing
  await limiter.consume({ client: 'a' }).catch(() => {})
  // @ts-expect-error: no such policy
  await limiter.consume({ client: 'a', account: 'b' }, { cost: { brust: 2 } }).catch(() => {})
  if (decision.outcome === 'refused') same<typeof decision.violated, readonly ('burst' | 'daily')[]>(true)
  return decision.allowed ? decision.limits.length : 0
}

export const middleware = expressLimit({
  policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })],
  partition: (request) => request.get('x-api-key') ?? clientAddress(request),
})

const burst = [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] as const
export const plugin = rateLimitPlugin({ policies: burst, partition: (request) => request.ip })
export const koa = koaLimit({ policies: burst, partition: (context) => context.ip })
export const nest = rateLimitModule({ policies: burst, partition: (request) => request.ip })
export const node = nodeLimit({ policies: burst, cost: { burst: 2 } })((_request, response) => response.end())
// @ts-expect-error: no such policy
export const wrong = () => koaLimit({ policies: burst, cost: { brust: 2 } })

const limited = fetchLimit({
  policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })],
  partition: (request) => request.headers.get('x-api-key') ?? 'nobody',
})

export const handler: (request: Request) => Promise<Response> = limited(() => new Response('ok'))
