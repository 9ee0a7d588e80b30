import { outgoing } from './body.js'
import { Call, type Surroundings } from './call.js'
import { type CallOptions, readCallOptions } from './call-options.js'
import { expected } from './check.js'
import { closedError } from './errors.js'
import { leftovers } from './follow.js'
import { type Given, readGiven } from './given.js'
import { GlobalFetch, markUnderlying, type Send } from './global-fetch.js'
import { type ClientOptions, readOptions, type Settings } from './options.js'
import type { KnownLimit } from './pace/pace.js'
import { Partitions } from './partitions.js'
import { StopSignals } from './stop-signal.js'
import { type FetchInput, isRequest, readTarget, type Target } from './target.js'

/** What fetch takes as its second argument, and what a paced call may say about itself. */
export interface RatepactInit extends RequestInit {
  /** Never handed to the underlying fetch. */
  rateLimit?: CallOptions | undefined
}

/** A fetch that keeps to the limits of whom it calls. */
export interface RatepactFetch {
  /**
   * Does what fetch does, once the limits allow it. A 429 is retried; one that cannot be recovered within
   * the limits given is returned.
   *
   * @throws RateLimitError when the call would wait for too long, or behind too many others.
   */
  (input: FetchInput, init?: RatepactInit): Promise<Response>
  /** What is known now of the limits that such a call meets. */
  limits(input: FetchInput, init?: RatepactInit): readonly KnownLimit[]
  /** Ends every wait with a RateLimitError, and refuses further calls. Calls in flight end as they would. */
  close(): void
}

/**
 * Makes a fetch that paces its calls by the limits that servers state, and retries refusals.
 *
 * @example
 * const api = createFetch({ maxWaitSeconds: 30 })
 * const response = await api('https://api.example.com/orders')
 *
 * @throws TypeError or RangeError for an option that makes no sense.
 */
export function createFetch(options: ClientOptions = {}): RatepactFetch {
  const client = new Client(readOptions(options))
  const paced = (input: FetchInput, init?: RatepactInit): Promise<Response> => client.call(input, init ?? {})
  markUnderlying(paced, client.underlying)
  return Object.assign(paced, {
    limits: (input: FetchInput, init?: RatepactInit) => client.limits(input, init ?? {}),
    close: () => client.close(),
  })
}

/** What a client holds: its partitions, and the order in which calls arrive. */
class Client {
  readonly #settings: Settings
  readonly #partitions: Partitions
  readonly #closing = new AbortController()
  readonly #signals = new StopSignals()
  readonly #around: Surroundings
  readonly #global: GlobalFetch | undefined
  #arrivals = 0

  constructor(settings: Settings) {
    this.#settings = settings
    this.#partitions = new Partitions(settings)
    const own = settings.fetch as Send | undefined
    const global = new GlobalFetch()
    if (own === undefined) this.#global = global
    const send: Send = own ?? ((input, init) => global.send(input, init))
    const closing = this.#signals.of(this.#closing.signal)
    this.#around = { settings, send, closing, leftovers: leftovers() }
  }

  /** What sends when the client itself is `globalThis.fetch`; undefined when it has a fetch of its own. */
  get underlying(): Send | undefined {
    return this.#global?.underlying
  }

  async call(input: FetchInput, init: RatepactInit): Promise<Response> {
    // A call that has had its turn, and has come back because this client is what the global fetch calls.
    if (this.#global?.sending) return this.#global.sendBelow(input, init)
    this.#closing.signal.throwIfAborted()
    if (typeof init !== 'object') return this.#around.send(input, init)
    const given = readGiven(input, init)
    const about = readCallOptions(given.rateLimit as CallOptions | undefined, this.#settings.perCall)
    const target = readTarget(given.input, given.init)
    const signal = signalOf(given)
    if (target === undefined || !isSignal(signal)) {
      return this.#around.send(given.input, given.init)
    }
    const key = this.#key(target)
    const route = this.#route(target)
    this.#arrivals += 1
    const call = new Call(this.#around, {
      about,
      target,
      outgoing: outgoing(absolute(given.input, target), given.init),
      partition: this.#partitions.open(key, target.location.origin),
      route,
      arrival: this.#arrivals,
      signal: signal && this.#signals.of(signal),
    })
    return call.run()
  }

  limits(input: FetchInput, init: RatepactInit): readonly KnownLimit[] {
    const given = readGiven(input, init)
    const target = readTarget(given.input, given.init)
    if (target === undefined) return []
    return this.#partitions.find(this.#key(target))?.pace.limits(this.#route(target)) ?? []
  }

  close(): void {
    this.#closing.abort(closedError())
    for (const partition of this.#partitions.values()) partition.queue.close()
  }

  #key(target: Target): string {
    return text('partition', this.#settings.partition(target))
  }

  #route(target: Target): string {
    return text('route', this.#settings.route(target))
  }
}

/** The caller's own functions may return anything. */
function text(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  throw new TypeError(expected(`the result of ${name}`, 'a string', value))
}

/** A page may get another address while the call waits, which must not lead the call elsewhere. */
function absolute(input: FetchInput, target: Target): FetchInput {
  return typeof input === 'string' && !/^\s*https?:\/\//i.test(input) ? target.url : input
}

/** As fetch has it: the one in init, where null means none, else that of the Request. */
function signalOf({ input, init }: Given): AbortSignal | undefined {
  const signal = init.signal === undefined && isRequest(input) ? input.signal : init.signal
  return signal ?? undefined
}

/** Of whichever implementation. What is no signal is fetch's to refuse. */
function isSignal(signal: AbortSignal | undefined): boolean {
  return signal === undefined || (typeof signal === 'object' && typeof signal.addEventListener === 'function')
}
