import {
  createLimiter,
  type Limit,
  type Limiter,
  memoryStore,
  type NameOf,
  type Policy,
} from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'
import { unlessAborted } from './abort.js'
import { delay } from './delay.js'
import { exchange, type Outcome, type Telling } from './exchange.js'
import { type Listening, type ListenOptions, listen } from './listen.js'
import { type Counts, Log, type SeenRequest } from './log.js'
import { type LimitedApiOptions, readOptions, type Settings } from './options.js'

/** What fetch takes. */
export type FetchInput = Parameters<typeof globalThis.fetch>[0]

/** An API that keeps limits, to test a client against. */
export interface LimitedApi<Name extends string = string> {
  /**
   * Answers as the API would, without a network. Can be called, and handed on, as the global fetch. Rejects with the
   * signal's reason when it is given up, and with what the functions of the API's options throw.
   */
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

  async function outcomeOf(request: Request): Promise<Outcome> {
    const { signal } = request
    let outcome: Outcome | undefined
    try {
      await delay(latencyMs / 2, clock, signal)
      outcome = await unlessAborted(server.answer(request), signal, drop)
      await delay(latencyMs / 2, clock, signal)
      return outcome
    } catch (error) {
      if (!signal.aborted) throw error
      if (outcome !== undefined) drop(outcome)
      return { failure: signal.reason }
    }
  }

  async function call(input: FetchInput, init?: RequestInit): Promise<Response> {
    const outcome = await outcomeOf(new Request(input, init))
    if ('failure' in outcome) throw outcome.failure
    return outcome.response
  }
  const fetch: LimitedApi['fetch'] & Telling = Object.assign(call, { [exchange]: outcomeOf })

  return {
    fetch,
    get requests() {
      return log.requests()
    },
    counts: () => log.counts(),
    async limits(input, init) {
      return (await server.limits(new Request(input, init))) as readonly Limit<NameOf<P>>[]
    },
    reset() {
      server = serverOf(settings, log)
      log.clear()
    },
    listen: (where) => listen(fetch, where),
  }
}

interface Server {
  answer(request: Request): Promise<Outcome>
  limits(request: Request): Promise<readonly Limit[]>
}

/** What became of a request. */
interface Fate {
  admitted: boolean
  /** What `respond` threw, which is meant to. */
  failed?: { readonly failure: unknown }
}

/** Gives up an answer that nobody waits for any more. */
function drop(outcome: Outcome): void {
  if ('response' in outcome) outcome.response.body?.cancel().catch(() => {})
}

/** The limiter, its buckets all full, and the server's own way from a decision to an answer. */
function serverOf(settings: Settings, log: Log): Server {
  const { policies, clock, partition, cost, scope, crowd, headers, respond } = settings
  const limiter: Limiter = createLimiter({ policies, ...crowd, store: memoryStore({ clock }), clock })
  const note = ({ method, url, headers }: Request, admitted: boolean): void =>
    log.add({ method, url, headers, admitted, atMs: clock.now() })
  const priced = cost === undefined ? undefined : { cost }
  const handle = rateLimit({ limiter, clock, partition, scope, headers, ...priced })(
    async (request: Request, fate: Fate) => {
      fate.admitted = true
      note(request, true)
      try {
        return await respond(request)
      } catch (failure) {
        fate.failed = { failure }
        throw failure
      }
    },
  )
  return {
    async answer(request) {
      const fate: Fate = { admitted: false }
      try {
        const response = await handle(request, fate)
        if (!fate.admitted) note(request, false)
        return { response }
      } catch (error) {
        if (fate.failed === undefined) throw error
        return fate.failed
      }
    },
    async limits(request) {
      const owner = partition(request)
      const decision = await limiter.peek(owner as string, { cost: 0, scope: scope(request) })
      return 'limits' in decision ? decision.limits : []
    },
  }
}
