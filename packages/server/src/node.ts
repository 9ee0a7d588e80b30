import { expectFunction } from './expect.js'
import type { Addressed } from './http/address.js'
import type { Trust } from './http/address-watch.js'
import { createGate, type Seen } from './http/core.js'
import type { Denied } from './http/denial.js'
import type { NodeState } from './http/node-judge.js'
import { proceed } from './http/node-proceed.js'
import type { MakeLimit } from './http/options.js'
import { scopeOf } from './http/scope.js'
import { listOf } from './list.js'

export type { Answer } from './http/answer.js'
export type { Denied } from './http/denial.js'
export type { HeaderOptions, MissingPartition } from './http/options.js'

/** What a request of `node:http` and `node:http2` has. A function of yours may ask for Node's own type instead. */
export interface NodeLimitRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** What a response of `node:http` and `node:http2` has. A function of yours may ask for Node's own type instead. */
export interface NodeLimitResponse {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
  end(): unknown
  end(body: string): unknown
}

/** Answers requests: what `createServer` takes. */
type Listener<Request, Response> = (request: Request, response: Response) => unknown

/** Puts a limit before a listener. */
export type NodeLimit = <Request extends NodeLimitRequest, Response extends NodeLimitResponse>(
  listener: Listener<Request, Response>,
) => (request: Request, response: Response) => void

type Asked = readonly [request: NodeLimitRequest, response: NodeLimitResponse]

/** What a server without a framework has to be told. */
export interface NodeOptions {
  /**
   * Answers a request of which an error has come: one of your functions or the listener has thrown.
   * @default 500 without a body, and the error on the console
   */
  onError?(error: unknown, request: NodeLimitRequest, response: NodeLimitResponse): unknown
}

/**
 * Limits a listener of `node:http` or `node:http2`. The address is that of the connection; behind a proxy, `partition`
 * says who calls. There are no routes, so policies that count per scope have one for each method, unless `scope` says more.
 *
 * @throws TypeError or RangeError, when it is made, naming the option, the value and the rule
 * @example createServer(rateLimit({ policies })((request, response) => response.end('hello'))).listen(3000)
 */
export const rateLimit: MakeLimit<Asked, Asked, NodeLimit, NodeOptions> = (options: object): NodeLimit => {
  const { onError = failed, ...others } = { ...(options as NodeOptions) }
  expectFunction('onError', onError)
  const gate = createGate<Asked>(
    'rateLimit',
    typeof options === 'object' && options !== null && !Array.isArray(options) ? others : options,
  )
  const { onDenied } = others as { onDenied?: (...args: unknown[]) => unknown }

  return (listener) =>
    function rateLimit(request, response) {
      const node = response as object as NodeState
      const seen = new NodeSeen(request, response)
      /** What a framework would do with an error. */
      const next = (error?: unknown) =>
        error === undefined ? listener(request, response) : onError(error, request, response)

      const own = onDenied && ((_next: unknown, decision: Denied) => onDenied(request, response, decision))
      void proceed(gate, listOf(request, response), seen, node, next, own)
    }
}

/** A class, since there is one for each request: closures are dearer. */
class NodeSeen implements Seen {
  readonly shared: object
  readonly #request: NodeLimitRequest

  constructor(request: NodeLimitRequest, response: object) {
    this.shared = response
    this.#request = request
  }

  /** Of the connection alone, whatever else the request has been given. */
  get from(): Addressed {
    return new Connected(this.#request.socket)
  }

  get method(): string | undefined {
    return this.#request.method
  }

  trust(): Trust {
    return 'none'
  }

  scope(): string {
    return scopeOf(this.#request.method, '')
  }

  header(name: string): string | string[] | undefined {
    return this.#request.headers[name]
  }
}

class Connected implements Addressed {
  readonly socket: Addressed['socket']

  constructor(socket: Addressed['socket']) {
    this.socket = socket
  }
}

/** Nothing of what the listener had set for its own answer stays. What has begun cannot be answered any more. */
function failed(error: unknown, _request: NodeLimitRequest, response: NodeLimitResponse): void {
  console.error(error)
  if (response.headersSent) throw error
  const head = response as NodeLimitResponse & Named
  for (const name of head.getHeaderNames()) head.removeHeader(name)
  response.statusCode = 500
  response.end()
}

interface Named {
  getHeaderNames(): readonly string[]
  removeHeader(name: string): void
}
