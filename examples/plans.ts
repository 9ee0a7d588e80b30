// One service for all, of which a part is kept for those who must always get through: everybody counts into the whole,
// and all but the critical clients into a share that is smaller than it.
import { createLimiter, memoryStore, type Store, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'

const whole = tokenBucket({ name: 'whole', capacity: 100, refillPerSecond: 100, by: 'service' })
const share = tokenBucket({ name: 'share', capacity: 80, refillPerSecond: 80, by: 'service' })
const each = tokenBucket({ name: 'client', capacity: 30, refillPerSecond: 10 })

/** Who calls, from records of your own: never what a request says of itself. */
export interface Client {
  readonly id: string
  readonly critical: boolean
}

export function plannedApi(
  clientOf: (request: Request) => Client,
  store: Store = memoryStore(),
): (request: Request) => Promise<Response> {
  const limiter = createLimiter({ store, plans: { standard: [whole, share, each], critical: [whole] } })
  const limit = rateLimit({
    limiter,
    partition: (request) => ({ service: 'orders', client: clientOf(request).id }),
    plan: (request) => (clientOf(request).critical ? 'critical' : 'standard'),
  })
  return limit(() => Response.json({ ordered: true }))
}
