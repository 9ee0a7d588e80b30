import type { Trust } from './http/address-watch.js'
import { createGate } from './http/core.js'
import type { Denial } from './http/denial.js'
import { setDenialHead, setDenialHeaders } from './http/denial-head.js'
import { errorOf } from './http/error.js'
import { koaScope, koaTrust, type RoutedByKoa, type TrustedByKoa } from './http/koa-scope.js'
import { changeHead } from './http/node-change.js'
import { judge, type NodeState } from './http/node-judge.js'
import type { MakeLimit } from './http/options.js'
import { RequestSeen } from './http/request-seen.js'
import { listOf } from './list.js'

export type { Answer } from './http/answer.js'
export type { Denied } from './http/denial.js'
export type { HeaderOptions, MissingPartition } from './http/options.js'

/** What a context has in Koa 2 and 3. A function of yours may ask for Koa's own `Context` instead. */
export interface KoaContext {
  readonly ip: string
  readonly method: string
  readonly url: string
  readonly originalUrl: string
  readonly path: string
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly res: object
  // As Koa types it: what middleware before this one has left for those after it.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly state: any
  status: number
  body: unknown
  /** Set to false by what answers by itself, through `res`. */
  respond?: boolean | undefined
}

/** Middleware for `app.use`, `router.use` and routes. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>

type Asked = readonly [context: KoaContext]

/**
 * Middleware that asks a limiter about every request: states the limits on the answer, and answers in the place of what
 * comes after it what may not pass. Errors, those of your functions included, are thrown, as Koa has it. `onDenied` sets
 * `ctx.body`.
 *
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 * @example app.use(rateLimit({ policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] }))
 * @example router.post('/orders', rateLimit({ limiter, partition: (ctx) => ctx.state.clientId }), handler)
 */
export const rateLimit: MakeLimit<Asked, Asked, KoaMiddleware> = (options: object): KoaMiddleware => {
  const gate = createGate<Asked>('rateLimit', options)
  const { onDenied } = options as { onDenied?: (...args: unknown[]) => unknown }

  return async function rateLimit(context, next) {
    const seen = new KoaSeen(context, context.res)
    const verdict = await judge(gate, listOf(context), seen, context.res as NodeState)
    if (verdict === 'over') return
    if (verdict === 'pass') return void (await next())
    const own = onDenied && (() => onDenied(context, verdict))
    await answerContext(context, gate.denial(verdict, seen), own)
  }
}

/** Its address is an empty text where there is none. */
class KoaSeen extends RequestSeen<KoaContext> {
  trust(): Trust {
    return koaTrust(this.from as TrustedByKoa)
  }

  scope(): string {
    return koaScope(this.from as RoutedByKoa)
  }
}

/** Koa's mark of a status that was set, which a body does not change. */
interface Explicit {
  readonly response?: { _explicitStatus?: boolean }
}

/** Answers with a refusal, or lets the user do so. Where that fails, nothing of the refusal stays. */
async function answerContext(
  context: KoaContext,
  denial: Denial,
  own: (() => unknown) | undefined,
): Promise<void> {
  const { response } = context as Explicit
  const explicit = response?._explicitStatus ?? false
  const { respond } = context
  const change = changeHead(context.res as NodeState, denial.status)
  try {
    // Whoever was to answer in Koa's place is not asked any more.
    if (respond === false) context.respond = true
    context.status = denial.status
    if (own === undefined) {
      setDenialHead(change, denial)
      context.body = denial.body
    } else {
      setDenialHeaders(change, denial.headers)
      await own()
    }
  } catch (error) {
    change.undo()
    if (respond === false) context.respond = respond
    if (response !== undefined) response._explicitStatus = explicit
    throw errorOf('rateLimit', error)
  }
}
