import type { Trust } from './http/address-watch.js'
import { createGate, type Gate } from './http/core.js'
import { errorOf } from './http/error.js'
import { fastifyScope, fastifyTrust } from './http/fastify-scope.js'
import { type NodeState, nodeStayOf, verdictOn } from './http/node-judge.js'
import type { MakeLimit } from './http/options.js'
import { answerReply, type Reply } from './http/reply.js'
import { RequestSeen } from './http/request-seen.js'
import { listOf } from './list.js'

export type { Answer } from './http/answer.js'
export type { Denied } from './http/denial.js'
export type { HeaderOptions, MissingPartition } from './http/options.js'

/** What a request has in Fastify 5. A function of yours may ask for Fastify's own `FastifyRequest` instead. */
export interface FastifyLimitRequest {
  readonly ip: string
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly is404: boolean
  readonly routeOptions: { readonly url?: string | undefined }
}

/** What a reply has in Fastify 5. A function of yours may ask for Fastify's own `FastifyReply` instead. */
export interface FastifyLimitReply extends Reply {
  readonly raw: object
}

/** Goes on to what comes next; with an error, to the error handler. */
type Done = (error?: Error) => void

/** A hook for `addHook` and for the options of a route: `onRequest`, `preValidation` or `preHandler`. */
export type FastifyLimit = (request: FastifyLimitRequest, reply: FastifyLimitReply, done: Done) => void

/** A plugin for `register`. */
export type FastifyLimitPlugin = (
  instance: { addHook(name: 'onRequest', hook: FastifyLimit): unknown },
  options: object,
  done: Done,
) => void

type Asked = readonly [request: FastifyLimitRequest, reply: FastifyLimitReply]

/**
 * A hook that asks a limiter about every request that it is called for: states the limits on the reply, and replies in
 * the handler's place to what may not pass. Errors, those of your functions included, go to the error handler.
 * `onDenied` sends a reply or returns its payload.
 *
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 * @example app.post('/orders', { onRequest: rateLimit({ limiter }) }, handler)
 * @example app.addHook('preHandler', rateLimit({ limiter, partition: (request) => request.user.id }))
 */
export const rateLimit: MakeLimit<Asked, Asked, FastifyLimit> = (options: object): FastifyLimit => {
  const gate = createGate<Asked>('rateLimit', options)
  const { onDenied } = options as { onDenied?: (...args: unknown[]) => unknown }

  return function rateLimit(request, reply, done, ...others: Done[]) {
    const [afterPayload] = others
    if (afterPayload === undefined) void run(gate, onDenied, request, reply, done)
    else afterPayload(new TypeError(MISPLACED))
  }
}

/** Of hooks that are handed a payload: what they reply to has been handled, or has a body that waits to be parsed. */
const MISPLACED =
  'rateLimit is a hook for onRequest, preValidation or preHandler, and was called with a payload'

/** Lets a request go on, or replies to it. Never throws. */
async function run(
  gate: Gate<Asked>,
  onDenied: ((...args: unknown[]) => unknown) | undefined,
  request: FastifyLimitRequest,
  reply: FastifyLimitReply,
  done: Done,
): Promise<void> {
  try {
    const node = reply.raw as NodeState
    const seen = new FastifySeen(request, node)
    const sentBefore = node.headersSent
    const decided = gate.decide(listOf(request, reply), seen, nodeStayOf)
    // One wait and no more: each costs.
    const decision = decided instanceof Promise ? await decided : decided
    const verdict = verdictOn(decision, gate, seen, node, sentBefore)
    if (verdict === 'pass') return done()
    // Fastify waits no longer for a reply that somebody else has given, or nobody takes.
    if (verdict === 'over') return void reply.hijack()
    const own = onDenied && (() => onDenied(request, reply, verdict))
    await answerReply(reply, gate.denial(verdict, seen), own)
  } catch (error) {
    done(errorOf('rateLimit', error) as Error)
  }
}

class FastifySeen extends RequestSeen<FastifyLimitRequest> {
  trust(): Trust {
    return fastifyTrust(this.from)
  }

  scope(): string {
    return fastifyScope(this.from)
  }
}

/**
 * A plugin that limits every route of the context that it is registered in, and of those below it; nothing beside it.
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 * @example await app.register(rateLimitPlugin({ policies: [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })] }))
 */
export const rateLimitPlugin: MakeLimit<Asked, Asked, FastifyLimitPlugin> = (
  options: object,
): FastifyLimitPlugin => {
  const limit = rateLimit(options as never)
  const plugin: FastifyLimitPlugin = (instance, _options, done) => {
    instance.addHook('onRequest', limit)
    done()
  }
  // Not a context of its own, which would end with the plugin.
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: '@ratepact/server',
    [Symbol.for('plugin-meta')]: { name: '@ratepact/server', fastify: '5.x' },
  })
}
