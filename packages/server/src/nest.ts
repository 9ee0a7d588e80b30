import { HttpException } from '@nestjs/common'
import { problemMediaType } from '@ratepact/contract'
import type { Trust } from './http/address-watch.js'
import { beforeHead } from './http/before-head.js'
import { createGate, type Gate, type Seen } from './http/core.js'
import type { Denial, Denied } from './http/denial.js'
import { setDenialHeaders } from './http/denial-head.js'
import { errorOf } from './http/error.js'
import { expressScope, expressTrust, type Routed } from './http/express-scope.js'
import { fastifyScope, fastifyTrust, type RoutedByFastify } from './http/fastify-scope.js'
import { type Change, changeHead } from './http/node-change.js'
import { judge, type NodeState } from './http/node-judge.js'
import type { MakeLimit } from './http/options.js'
import { changeReply, type Reply } from './http/reply.js'
import { RequestSeen } from './http/request-seen.js'
import { listOf } from './list.js'

export type { Answer } from './http/answer.js'
export type { Denied } from './http/denial.js'
export type { HeaderOptions, MissingPartition } from './http/options.js'

/** What a request has on both of Nest's platforms. A function of yours may ask for Express's or Fastify's own instead. */
export interface NestRequest {
  readonly ip?: string | undefined
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** As much of Nest's ExecutionContext as is needed. A function of yours may ask for Nest's own instead. */
export interface NestContext {
  getType(): string
  getClass(): unknown
  getHandler(): unknown
  switchToHttp(): { getRequest(): unknown; getResponse(): unknown }
}

/** A guard for `@UseGuards` and `useGlobalGuards`. */
export interface NestGuard {
  canActivate(context: NestContext): Promise<boolean>
}

/** A module for `imports`. */
export interface NestModule {
  readonly module: new () => object
  readonly providers: { readonly provide: string; readonly useValue: NestGuard }[]
}

type Asked = readonly [request: NestRequest, context: NestContext]

/**
 * A guard that asks a limiter about every call of the handlers that it guards: states the limits on the answer, and
 * throws an HttpException of status 429 or 503 for what may not pass, whose response is the problem details; status,
 * `Retry-After` and `Cache-Control` are set already. `onDenied` may return another exception to be thrown.
 *
 * Calls that are not HTTP (messages of sockets and microservices, GraphQL) have no head to state limits in and no
 * address: `partition` says who calls, given what Nest has in place of a request, which is undefined at the root of
 * GraphQL; without it they fail. `skip: (_request, context) => context.getType() !== 'http'` leaves them alone.
 *
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 * @example @UseGuards(rateLimitGuard({ limiter, partition: (request) => request.user.id }))
 */
export const rateLimitGuard: MakeLimit<Asked, Asked, NestGuard> = (options: object): NestGuard => {
  const gate = createGate<Asked>('rateLimitGuard', options)
  const { onDenied } = options as { onDenied?: (...args: unknown[]) => unknown }

  return {
    async canActivate(context) {
      const request = context.switchToHttp().getRequest() as NestRequest
      const own = onDenied && ((decision: Denied) => onDenied(request, context, decision))
      if (context.getType() !== 'http') return guardCall(gate, [request, context], own)
      const response = context.switchToHttp().getResponse() as NodeState | Reply
      const node = ('raw' in response ? response.raw : response) as NodeState
      const seen = new NestSeen(request, node)
      const verdict = await judge(gate, listOf(request, context), seen, node)
      if (verdict === 'pass') return true
      // Nest has its own way to end what is not to go on; nothing is left to be answered.
      if (verdict === 'over') return false
      const denial = gate.denial(verdict, seen)
      const change =
        'raw' in response ? changeReply(response, denial.status) : changeHead(response, denial.status)
      return refuse(change, denial, problemFor(node, denial), () => own?.(verdict))
    },
  }
}

class NestSeen extends RequestSeen<NestRequest> {
  trust(): Trust {
    return trustFor(this.from)
  }

  scope(): string {
    return scopeFor(this.from)
  }
}

/**
 * A module that guards all of an application, what is not HTTP included: see `rateLimitGuard`.
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 * @example @Module({ imports: [rateLimitModule({ policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] })] })
 */
export const rateLimitModule: MakeLimit<Asked, Asked, NestModule> = (options: object): NestModule => ({
  module: class RateLimitModule {},
  // The token by which Nest knows guards of the whole application, `APP_GUARD`.
  providers: [{ provide: 'APP_GUARD', useValue: rateLimitGuard(options as never) }],
})

/** Throws for a call that may not pass; where the user's function fails, nothing of the refusal stays. */
async function refuse(
  change: Change,
  { headers }: Denial,
  problem: HttpException,
  own: () => unknown,
): Promise<never> {
  let exception: unknown
  try {
    setDenialHeaders(change, headers)
    exception = await own()
  } catch (error) {
    change.undo()
    throw errorOf('rateLimitGuard', error)
  }
  throw exception instanceof Error ? exception : problem
}

/**
 * The exception whose response is the problem details. Nest sends an object as JSON, and in version 11 complains of any
 * other type that is set already; so the type is set when the head is written, if it is these details that were sent.
 */
function problemFor(node: NodeState, { details, status }: Denial): HttpException {
  let sent = false
  const response = Object.defineProperty({ ...details }, 'toJSON', {
    value() {
      sent = true
      return details
    },
  })
  beforeHead(node, (_status, head) => {
    if (sent && head.get('Content-Type')?.startsWith('application/json') === true)
      head.set('Content-Type', problemMediaType)
  })
  return new HttpException(response, status)
}

/** A call that has no head. */
async function guardCall(
  gate: Gate<Asked>,
  args: Asked,
  own: ((decision: Denied) => unknown) | undefined,
): Promise<boolean> {
  const seen: Seen = {
    from: {},
    method: undefined,
    scope: () => handlerOf(args[1]),
    header: () => undefined,
    shared: {},
  }
  const decision = await gate.decide(args, seen)
  if (decision === undefined || decision === 'gone' || decision.allowed) return true
  const exception = await own?.(decision)
  if (exception instanceof Error) throw exception
  const { details, status } = gate.denial(decision, seen)
  throw new HttpException(details, status)
}

/** What is called where there is no route: the method of the class. */
function handlerOf(context: NestContext): string {
  return [context.getClass(), context.getHandler()].map((part) => (part as { name?: string }).name).join('.')
}

function scopeFor(request: object): string {
  return 'routeOptions' in request
    ? fastifyScope(request as RoutedByFastify)
    : expressScope(request as Routed, undefined)
}

function trustFor(request: object): Trust {
  return 'routeOptions' in request ? fastifyTrust(request) : expressTrust(request as Routed)
}
