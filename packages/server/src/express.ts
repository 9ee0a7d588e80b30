import type { Decision } from './decision.js'
import { clientAddress } from './http/address.js'
import { createGate, type Gate } from './http/core.js'
import type { Denied } from './http/denial.js'
import { expressScope, type Routed } from './http/express-scope.js'
import { INSTANCE } from './http/instance.js'
import { deny, handOver, handToErrors, type NodeAnswer } from './http/node-answer.js'
import { atEnd, isGone, type NodeEnding } from './http/node-end.js'
import { beforeHead } from './http/node-head.js'
import type { ByLimiter, ByPlans, ByPolicies, HttpOptions, NeedsPartition } from './http/options.js'
import type { CandidatesOf, ListIn, NoCandidates } from './limiter-options.js'
import type { Plans } from './plans.js'
import type { KindOf, LiveNameOf, NameOf, Policy } from './policy.js'

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
    ExpressOptions<
      LiveNameOf<T[keyof T]>,
      KindOf<T[keyof T]> | KindOf<ListIn<C>>,
      NameOf<T[keyof T]> | NameOf<ListIn<C>>
    > &
    NeedsPartition<KindOf<T[keyof T]> | KindOf<ListIn<C>>>,
): ExpressMiddleware
export function rateLimit<Name extends string, Kind extends string, Counted extends string>(
  options: ByLimiter<Name, Kind, Counted> &
    ExpressOptions<NoInfer<Name>, NoInfer<Kind>, NoInfer<Counted>> &
    NeedsPartition<Kind>,
): ExpressMiddleware
export function rateLimit(
  options: (ByPolicies<readonly Policy[]> | ByPlans<Plans> | ByLimiter<string, string>) & ExpressOptions,
): ExpressMiddleware {
  const gate = createGate<Asked>('rateLimit', options)
  const { onDenied } = options

  return function rateLimit(request, response, next) {
    const node = response as ExpressResponse & NodeState
    const sentBefore = node.headersSent
    const seen = {
      address: () => clientAddress(request),
      scope: () => expressScope(request as Routed, rateLimit),
      instance: () => request.headers[INSTANCE],
    }

    async function run(): Promise<void> {
      const decision = await held(gate, await gate.decide([request, response], seen), node)
      // Somebody (a timeout, say) has answered while we asked or held: a handler could only fail.
      if (decision === 'gone' || (node.headersSent && !sentBefore)) return
      if (decision === undefined) return next()
      if (!node.headersSent) {
        const statement = gate.statement(decision, request.headers.origin !== undefined)
        if (statement !== undefined) beforeHead(node, statement)
      }
      // A client that has gone is counted and served like any other: it may have wanted the effect only, as a
      // beacon does, and were it not counted, hanging up early would be a way around the limit.
      if (decision.allowed) return next()
      if (node.headersSent) return cutOff(node, next)
      if (isGone(node)) return
      const denial = gate.denial(decision)
      if (onDenied === undefined) return deny(node, denial, next)
      return handOver(node, denial, next, (own) => onDenied(request, response, own, decision))
    }

    // Whatever fails, the methods that other middleware has wrapped included, is an error like the handlers' own.
    void run().catch((error: unknown) => handToErrors(node, next, error))
  }
}

/** Holds an admitted call where a policy asks for it; `gone` when nobody waits for its answer any more. */
function held(
  gate: Gate<Asked>,
  decision: Decision | undefined,
  response: NodeState,
): Decision | undefined | 'gone' | Promise<Decision | 'gone'> {
  if (gate.holder === undefined || decision?.outcome !== 'admitted') return decision
  const stay = { onEnd: (listener: () => void) => atEnd(response, listener) }
  return gate.holder.hold(decision, stay).then((kept) => kept ?? 'gone')
}

interface NodeState extends NodeAnswer, NodeEnding {}

/** Half an answer is on its way and the rest may not be made: Express ends the connection on an error then. */
function cutOff(response: NodeState, next: ExpressNext): void {
  if (response.writableEnded !== true && !isGone(response))
    next(new Error('rateLimit refused a request whose answer had begun: put it before what sends headers'))
}
