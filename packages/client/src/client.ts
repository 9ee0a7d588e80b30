import { isAbsolute } from './address.js'
import { Base } from './base.js'
import { outgoing } from './body.js'
import { Call, type Surroundings } from './call.js'
import { type CallOptions, readCallOptions } from './call-options.js'
import { leftovers } from './follow.js'
import { type Given, readGiven } from './given.js'
import { GlobalFetch, type Send } from './global-fetch.js'
import type { Settings } from './options.js'
import type { KnownLimit } from './pace/pace.js'
import type { CloseOptions, QueueOverview, RatepactInit } from './paced-fetch.js'
import { type FetchInput, isRequest, readTarget, type Target } from './target.js'

/** The front of fetch: takes calls as fetch does, and makes them. */
export class Client {
  readonly #base: Base
  readonly #around: Surroundings
  readonly #global: GlobalFetch | undefined

  constructor(settings: Settings) {
    this.#base = new Base(settings)
    const own = settings.fetch as Send | undefined
    const global = new GlobalFetch()
    if (own === undefined) this.#global = global
    const send: Send = own ?? ((input, init) => global.send(input, init))
    this.#around = { base: this.#base, send, leftovers: leftovers() }
  }

  /** What sends when the client itself is `globalThis.fetch`; undefined when it has a fetch of its own. */
  get underlying(): Send | undefined {
    return this.#global?.underlying
  }

  call(input: FetchInput, init: RatepactInit): Promise<Response> {
    try {
      // A call that has had its turn, and has come back because this client is what the global fetch calls.
      if (this.#global?.comesBack(init)) return this.#global.sendBelow(input, init as RequestInit)
      return typeof init === 'object' ? this.#run(input, init as RequestInit) : this.#passOn(input, init)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #run(asked: FetchInput, asking: RequestInit): Promise<Response> {
    const given = readGiven(asked, asking)
    const { input, init } = given
    const { addresses, settings, signals } = this.#base
    const about = readCallOptions(given.rateLimit as CallOptions | undefined, settings.perCall)
    const read = readTarget(input, init, addresses)
    const signal = signalOf(given)
    if (read === undefined || !isSignal(signal)) return this.#passOn(input, init)
    const headers = this.#base.headersOf(read, init.headers)
    if (headers !== undefined) init.headers = headers
    const target = read.with(headers)
    const { partition, route, arrival } = this.#base.place(target)
    const body = outgoing(absolute(input, target), init)
    const call = new Call(this.#around, {
      about,
      target,
      partition,
      route,
      arrival,
      signal: signal && signals.of(signal),
      outgoing: body,
      repeatable: body.repeatable,
    })
    return call.run()
  }

  /** What makes no sense here is fetch's to serve or to refuse. */
  async #passOn(input: FetchInput, init: RequestInit): Promise<Response> {
    try {
      this.#base.begin()
      return await this.#around.send(input, init)
    } finally {
      this.#base.end()
    }
  }

  limits(input: FetchInput, init: RatepactInit): readonly KnownLimit[] {
    const given = readGiven(input, init as RequestInit)
    return this.#base.limits(given.input, given.init)
  }

  get queue(): QueueOverview {
    return this.#base.queue
  }

  close(options: CloseOptions): Promise<void> {
    return this.#base.close(options)
  }
}

/** A page may get another address while the call waits, which must not lead the call elsewhere. */
function absolute(input: FetchInput, target: Target): FetchInput {
  return typeof input === 'string' && !isAbsolute(input) ? target.url : input
}

/** As fetch has it: the one in init, where null means none, else that of the Request. */
function signalOf({ input, init }: Given): AbortSignal | undefined {
  const signal = init.signal === undefined && isRequest(input) ? input.signal : init.signal
  return signal ?? undefined
}

/** Of whichever implementation. What is no signal is fetch's to refuse. */
function isSignal(signal: AbortSignal | undefined): boolean {
  if (signal === undefined) return true
  return typeof signal.addEventListener === 'function' && typeof signal.aborted === 'boolean'
}
