import {
  createLimiter,
  type Limit,
  type Limiter,
  memoryStore,
  type NameOf,
  type Policy,
} from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'
import { delay } from './delay.js'
import { type Listening, type ListenOptions, listen } from './listen.js'
import { type Counts, Log, type SeenRequest } from './log.js'
import { type LimitedApiOptions, readOptions, type Settings } from './options.js'

/** What fetch takes. */
export type FetchInput = Parameters<typeof globalThis.fetch>[0]

/** An API that keeps limits, to test a client against. */
export interface LimitedApi<Name extends string = string> {
  /** Answers as the API would, without a network. Can be called, and handed on, as the global fetch. */
  readonly fetch: (input: FetchInput, init?: RequestInit) => Promise<Response>
  /** What came in, in the order in which it was counted; the last 10 000. */
  readonly requests: readonly SeenRequest[]
  /** How many came in, were admitted and were refused. */
  counts(): Counts
  /** What the limits of such a call are now; changes nothing. */
  limits(input: FetchInput, init?: RequestInit): Promise<readonly Limit<Name>[]>
  /** Fills every bucket and forgets what came in. */
  reset(): void
  /** Serves the API on a port of 127.0.0.1, for clients that cannot be given a fetch function. */
  listen(options?: ListenOptions): Promise<Listening>
}

/**
 * A limited API: it counts, refuses and states its limits by the code of `@ratepact/server`.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example
 * const api = limitedApi({ policies: [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1 })] })
 * const response = await api.fetch('https://api.example/orders')
 * response.headers.get('ratelimit-policy') // '"burst";q=10;w=10;ratepact-refill="bucket"'
 */
export function limitedApi<const P extends readonly Policy[]>(
  options: LimitedApiOptions<P>,
): LimitedApi<NameOf<P>> {
  const settings = readOptions(options as unknown as LimitedApiOptions)
  const { clock, latencyMs } = settings
  const log = new Log()
  let server = serverOf(settings, log)

  const fetch: LimitedApi['fetch'] = async (input, init) => {
    const request = new Request(input, init)
    await delay(latencyMs / 2, clock, request.signal)
    const response = await server.answer(request)
    await delay(latencyMs / 2, clock, request.signal)
    return response
  }

  return {
    fetch,
    get requests() {
      return log.requests()
    },
    counts: () => log.counts(),
    limits: (input, init) => server.limits(new Request(input, init)) as Promise<readonly Limit<NameOf<P>>[]>,
    reset() {
      server = serverOf(settings, log)
      log.clear()
    },
    listen: (where) => listen(fetch, where),
  }
}

interface Server {
  answer(request: Request): Promise<Response>
  limits(request: Request): Promise<readonly Limit[]>
}

/** The limiter, its buckets all full, and the server's own way from a decision to an answer. */
function serverOf(settings: Settings, log: Log): Server {
  const { policies, clock, partition, cost, scope, headers, respond } = settings
  const limiter: Limiter = createLimiter({ policies, store: memoryStore({ clock }), clock })
  const note = ({ method, url, headers }: Request, admitted: boolean): void =>
    log.add({ method, url, headers, admitted, atMs: clock.now() })
  const priced = cost === undefined ? undefined : { cost }
  const handle = rateLimit({ limiter, clock, partition, scope, headers, ...priced })(
    (request: Request, fate: { admitted: boolean }) => {
      fate.admitted = true
      note(request, true)
      return respond(request)
    },
  )
  return {
    async answer(request) {
      const fate = { admitted: false }
      const response = await handle(request, fate)
      if (!fate.admitted) note(request, false)
      return response
    },
    async limits(request) {
      const owner = partition(request)
      const decision = await limiter.peek(owner as string, { cost: 0, scope: scope(request) })
      return 'limits' in decision ? decision.limits : []
    },
  }
}
