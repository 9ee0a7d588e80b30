import { outgoing } from './body.js'
import { Call } from './call.js'
import { type CallOptions, readCallOptions } from './call-options.js'
import { checkMembers, expected } from './check.js'
import { closedError } from './errors.js'
import type { Surroundings } from './fly.js'
import { leftovers } from './follow.js'
import { type Given, readGiven } from './given.js'
import { GlobalFetch, type Send } from './global-fetch.js'
import { withIdempotencyKey } from './idempotency.js'
import type { Settings } from './options.js'
import { mayCarry, randomHex, withField } from './own-field.js'
import type { KnownLimit } from './pace/pace.js'
import type { CloseOptions, QueueOverview, RatepactInit } from './paced-fetch.js'
import { Partitions } from './partitions.js'
import { StopSignals } from './stop-signal.js'
import { type FetchInput, isRequest, readTarget, type Target } from './target.js'

const instanceField = 'Ratepact-Instance'

/** What a client holds: its partitions, and the order in which calls arrive. */
export class Client {
  readonly #settings: Settings
  readonly #partitions: Partitions
  readonly #closing = new AbortController()
  readonly #signals = new StopSignals()
  readonly #around: Surroundings
  readonly #global: GlobalFetch | undefined
  /** Who waits for the last call to end. */
  readonly #ended: (() => void)[] = []
  #arrivals = 0
  #running = 0
  readonly #instance: string | undefined
  #closed = false

  constructor(settings: Settings) {
    this.#settings = settings
    this.#partitions = new Partitions(settings)
    if (settings.tellInstance) this.#instance = randomHex(8)
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
    if (this.#global?.sending) return this.#global.sendBelow(input, init as RequestInit)
    if (this.#closed) throw closedError()
    if (typeof init !== 'object') return this.#around.send(input, init)
    this.#running += 1
    try {
      return await this.#run(readGiven(input, init as RequestInit))
    } finally {
      this.#running -= 1
      if (this.#running === 0) for (const ended of this.#ended.splice(0)) ended()
    }
  }

  #run(given: Given): Promise<Response> {
    const { input, init } = given
    const settings = this.#settings
    const about = readCallOptions(given.rateLimit as CallOptions | undefined, settings.perCall)
    let target = readTarget(input, init)
    const signal = signalOf(given)
    if (target === undefined || !isSignal(signal)) return this.#around.send(input, init)
    let headers = withIdempotencyKey(init.headers, target, settings)
    if (this.#instance !== undefined && mayCarry(target) && !target.headers.has(instanceField)) {
      headers = withField(headers, instanceField, this.#instance)
    }
    if (headers !== undefined) init.headers = headers
    target = target.with(headers)
    const key = this.#key(target)
    const route = this.#route(target)
    this.#arrivals += 1
    const call = new Call(this.#around, {
      about,
      target,
      outgoing: outgoing(absolute(input, target), init),
      partition: this.#partitions.open(key, target.location.origin),
      route,
      arrival: this.#arrivals,
      signal: signal && this.#signals.of(signal),
    })
    return call.run()
  }

  limits(input: FetchInput, init: RatepactInit): readonly KnownLimit[] {
    const given = readGiven(input, init as RequestInit)
    const target = readTarget(given.input, given.init)
    if (target === undefined) return []
    return this.#partitions.find(this.#key(target))?.pace.limits(this.#route(target)) ?? []
  }

  get queue(): QueueOverview {
    const partitions: QueueOverview['partitions'][number][] = []
    let waiting = 0
    let inFlight = 0
    for (const { label, queue } of this.#partitions.values()) {
      if (queue.size + queue.flying === 0) continue
      waiting += queue.size
      inFlight += queue.flying
      partitions.push({ partition: label, waiting: queue.size, inFlight: queue.flying })
    }
    return { waiting, inFlight, partitions }
  }

  close(options: CloseOptions): Promise<void> {
    checkMembers('close options', options, ['drain'])
    this.#closed = true
    if (options.drain !== true) {
      this.#closing.abort(closedError())
      for (const partition of this.#partitions.values()) partition.queue.close()
    }
    return new Promise((resolve) => {
      if (this.#running === 0) resolve()
      else this.#ended.push(resolve)
    })
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
