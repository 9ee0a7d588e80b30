import type { Trust } from './http/address-watch.js'
import { createGate } from './http/core.js'
import type { Denied } from './http/denial.js'
import { expressScope, expressTrust, type Routed } from './http/express-scope.js'
import type { NodeState } from './http/node-judge.js'
import { proceed } from './http/node-proceed.js'
import type {
  ByLimiter,
  ByPlans,
  ByPolicies,
  HttpOptions,
  NeedsPartition,
  NeedsPlan,
} from './http/options.js'
import { RequestSeen } from './http/request-seen.js'
import type { CandidatesOf, ListIn, NoCandidates } from './limiter-options.js'
import { listOf } from './list.js'
import type { Plans } from './plans.js'
import type { KindOf, LiveNameOf, NameOf, Policy } from './policy.js'

export type { Answer } from './http/answer.js'
export type { Denied } from './http/denial.js'
export type { HeaderOptions, MissingPartition } from './http/options.js'

/** What a request has in Express 4 and 5. A function of yours may ask for Express's own `Request` instead. */
export interface ExpressRequest {
  readonly ip?: string | undefined
  readonly method: string
  readonly url: string
  readonly originalUrl: string
  readonly path: string
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly socket: { readonly remoteAddress?: string | undefined }
  get(name: string): string | undefined
}

/** What a response has in Express 4 and 5. A function of yours may ask for Express's own `Response` instead. */
export interface ExpressResponse {
  // As Express types it: what middleware before this one has left for those after it.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly locals: Record<string, any>
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
  end(body?: string): unknown
}

/** Goes on to what comes next; with an error, to the error handlers. */
export type ExpressNext = (error?: unknown) => void

/** Middleware for `app.use`, `router.use` and routes. */
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ExpressResponse,
  next: ExpressNext,
) => void

type Asked = readonly [request: ExpressRequest, response: ExpressResponse]

/** The options of `rateLimit` besides the limiter or what it is made of. */
export interface ExpressOptions<
  Name extends string = string,
  Kind extends string = string,
  Counted extends string = Name,
> extends HttpOptions<Counted, Kind, Asked, readonly [...Asked, next: ExpressNext, decision: Denied<Name>]> {}

/**
 * Middleware that asks a limiter about every request: states the limits on the answer, and answers in the handler's
 * place what may not pass: 429 with `Retry-After` and problem details, or 503 while a closed limiter cannot ask
 * its store. Errors, those of your functions included, go to `next(error)`.
 *
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 * @example app.use(rateLimit({ policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] }))
 * @example app.post('/orders', rateLimit({ limiter, partition: (req, res) => res.locals.clientId }), handler)
 */
export function rateLimit<const P extends readonly Policy[], const C extends readonly Policy[] = readonly []>(
  options: ByPolicies<P, C> &
    ExpressOptions<LiveNameOf<P>, KindOf<P> | KindOf<C>, NameOf<P> | NameOf<C>> &
    NeedsPartition<KindOf<P> | KindOf<C>>,
): ExpressMiddleware
export function rateLimit<const T extends Plans, const C extends CandidatesOf<T> = NoCandidates>(
  options: ByPlans<T, C> &
    NeedsPlan &
    ExpressOptions<
      LiveNameOf<T[keyof T]>,
      KindOf<T[keyof T]> | KindOf<ListIn<C>>,
      NameOf<T[keyof T]> | NameOf<ListIn<C>>
    > &
    NeedsPartition<KindOf<T[keyof T]> | KindOf<ListIn<C>>>,
): ExpressMiddleware
export function rateLimit<
  Name extends string,
  Kind extends string,
  Plan extends string,
  Counted extends string,
>(
  options: ByLimiter<Name, Kind, Counted, Plan> &
    ExpressOptions<NoInfer<Name>, NoInfer<Kind>, NoInfer<Counted>> &
    NeedsPartition<Kind>,
): ExpressMiddleware
export function rateLimit(options: object): ExpressMiddleware {
  const gate = createGate<Asked>('rateLimit', options)
  const { onDenied } = options as ExpressOptions

  return function rateLimit(request, response, next) {
    const node = response as ExpressResponse & NodeState
    const seen = new ExpressSeen(request, response, rateLimit)

    const own =
      onDenied && ((answer: ExpressNext, decision: Denied) => onDenied(request, response, answer, decision))
    void proceed(gate, listOf(request, response), seen, node, next, own)
  }
}

class ExpressSeen extends RequestSeen<ExpressRequest> {
  readonly #middleware: unknown

  constructor(request: ExpressRequest, response: ExpressResponse, middleware: unknown) {
    super(request, response)
    this.#middleware = middleware
  }

  trust(): Trust {
    return expressTrust(this.from as Routed)
  }

  scope(): string {
    return expressScope(this.from as Routed, this.#middleware)
  }
}
