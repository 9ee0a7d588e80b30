import type { Dispatcher } from 'undici'
import { Base } from '../base.js'
import { type CallOptions, readCallOptions } from '../call-options.js'
import { type Checks, checkShape, expected } from '../check.js'
import { type ClientOptions, readOptions } from '../options.js'
import type { KnownLimit } from '../pace/pace.js'
import type { CloseOptions, QueueOverview } from '../paced-fetch.js'
import type { RetryOptions } from '../retry-options.js'
import { Exchange } from './exchange.js'
import { copyOf, isConsumable, type Pairs, targetOf, withPairs } from './request.js'

/**
 * Those of `createFetch` but for `fetch`, in whose place the dispatcher stands, and `retry.classify`, since an interceptor has no
 * `Response` to show.
 */
export interface PacingOptions extends Omit<ClientOptions, 'fetch' | 'retry'> {
  readonly retry?: Omit<RetryOptions, 'classify'> | undefined
  /**
   * Where calls go that do not say so: those of a `Client` or a `Pool`. An interceptor cannot see it, and without it paces
   * such calls together as of an origin without a name, which `limits()`, `dialects()` and events do not know.
   * @default none
   */
  readonly origin?: string | URL | undefined
}

/** An interceptor for `dispatcher.compose()`, and what it knows. One may serve several dispatchers, which then share what it learns. */
export interface Pacing {
  (dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch
  /** What is known of the limits that hold such a call. */
  limits(
    url: string | URL,
    init?: { method?: string; headers?: Record<string, string> },
  ): readonly KnownLimit[]
  /** Who waits, and what is under way. */
  readonly queue: QueueOverview
  /** Ends all waits, or with `drain` lets them end; settles when the last call has ended. */
  close(options?: CloseOptions): Promise<void>
}

/**
 * Makes an interceptor that holds calls back until the limits that a server states allow them, and sends refusals again. A call
 * can say more about itself by `rateLimit` among its options, as with `createFetch`: see `withRateLimit`.
 *
 * A call whose body is a stream gets its refusal back, since that can be read once. Connections that are upgraded are let through.
 *
 * @example
 * import { Agent, request } from 'undici'
 * import { pace } from '@ratepact/client/undici'
 *
 * const dispatcher = new Agent().compose(pace({ maxWaitSeconds: 30 }))
 * const { statusCode, body } = await request('https://api.example.com/orders', { dispatcher })
 *
 * @throws TypeError or RangeError for an option that makes no sense.
 */
export function pace(options: PacingOptions = {}): Pacing {
  const { origin, ...rest } = checkShape<PacingOptions>('options', options, {} as Checks<PacingOptions>)
  const settings = readOptions(rest)
  if ('fetch' in rest) throw new TypeError('Expected options to have no fetch, since the dispatcher sends')
  if (rest.retry !== undefined && 'classify' in rest.retry)
    throw new TypeError('Expected retry to have no classify, since an interceptor has no Response to show')
  const own = readOrigin(origin)
  const base = new Base(settings)
  let unnamed = 0
  const compose = (dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch => {
    // A dispatcher of one origin is not told it with each call, and does not tell it.
    unnamed += 1
    const unknown = own ?? `http://dispatcher-${unnamed}.invalid`
    return (options, handler) => {
      if (options.method === 'CONNECT' || options.upgrade) return dispatch(options, handler)
      return start(base, dispatch, unknown, options, handler)
    }
  }
  return Object.defineProperties(compose as Pacing, {
    limits: {
      value: (url: string | URL, init: RequestInit = {}) => base.limits(String(url), init),
    },
    queue: { get: () => base.queue },
    close: { value: (closing: CloseOptions = {}) => base.close(closing) },
  })
}

/** Takes a call as undici does: what is wrong with it is thrown, and all else told to its handler. */
function start(
  base: Base,
  dispatch: Dispatcher.Dispatch,
  unknown: string,
  options: Dispatcher.DispatchOptions,
  handler: Dispatcher.DispatchHandler,
): boolean {
  if (handler.onRequestStart === undefined && handler.onConnect !== undefined)
    throw new TypeError(
      'Expected the interceptor to be used by compose(), which brings old handlers to the new form',
    )
  const { rateLimit } = options as { rateLimit?: CallOptions }
  const about = readCallOptions(rateLimit, base.settings.perCall)
  const copy = copyOf(options)
  const read = targetOf(copy, unknown, base.addresses)
  // What is none of ours to understand is undici's to refuse.
  if (read === undefined) return dispatch(copy, handler)
  const { target, pairs } = read
  const headers = base.headersOf(target, pairs) as Pairs
  const added = headers.slice(pairs.length)
  const sent = added.length === 0 ? copy : withPairs(copy, added)
  const repeatable = !isConsumable(options.body)
  const own = added.length === 0 ? target : target.with(headers)
  const parts = { about, target: own, repeatable, ...base.place(target) }
  return new Exchange(base, parts, (attempt) => dispatch(sent, attempt), handler, sent.body).start()
}

/** @throws TypeError for what is no origin */
function readOrigin(origin: unknown): string | undefined {
  if (origin === undefined) return undefined
  const {
    protocol,
    href,
    origin: read,
  } = URL.canParse(String(origin)) ? new URL(String(origin)) : ({} as Partial<URL>)
  if (/^https?:$/.test(protocol ?? '') && href === `${read}/`) return read
  throw new TypeError(expected('origin', 'an http or https URL without a path', origin))
}
