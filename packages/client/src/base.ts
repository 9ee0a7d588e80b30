import { Addresses } from './address.js'
import { aBoolean, aString, checkMembers, optional } from './check.js'
import { closedError } from './errors.js'
import { withIdempotencyKey } from './idempotency.js'
import type { Settings } from './options.js'
import { mayCarry, randomHex, withField } from './own-field.js'
import type { KnownLimit } from './pace/pace.js'
import type { CloseOptions, QueueOverview } from './paced-fetch.js'
import type { Partition } from './partition.js'
import { Partitions } from './partitions.js'
import { type StopSignal, StopSignals } from './stop-signal.js'
import { type FetchInput, readTarget, type Target } from './target.js'

const instanceField = 'Ratepact-Instance'

/** What every front stands on: its partitions, the calls that are under way, and the order in which they arrive. */
export class Base {
  readonly settings: Settings
  readonly signals: StopSignals = new StopSignals()
  readonly addresses: Addresses = new Addresses()
  /** Aborted when the client is closed. */
  readonly closing: StopSignal
  readonly #stop = new AbortController()
  readonly #partitions: Partitions
  /** Who waits for the last call to end. */
  readonly #ended: (() => void)[] = []
  readonly #instance: string | undefined
  #arrivals = 0
  #running = 0
  #closed = false

  constructor(settings: Settings) {
    this.settings = settings
    this.#partitions = new Partitions(settings)
    this.closing = this.signals.of(this.#stop.signal)
    if (settings.tellInstance) this.#instance = randomHex(8)
  }

  /** A call begins. @throws RateLimitError when the client is closed; the call has to end all the same */
  begin(): void {
    this.#running += 1
    if (this.#closed) throw closedError()
  }

  /** A call has ended, however it did. */
  end(): void {
    this.#running -= 1
    if (this.#running === 0) for (const ended of this.#ended.splice(0)) ended()
  }

  /** The headers of a call with those of the client's own in them. */
  headersOf(target: Target, given: RequestInit['headers']): RequestInit['headers'] {
    const headers = withIdempotencyKey(given, target, this.settings)
    const told = this.#instance === undefined || !mayCarry(target) || target.headers.has(instanceField)
    return told ? headers : withField(headers, instanceField, this.#instance ?? '')
  }

  /** Where a call belongs, and when it came. */
  place(target: Target): { readonly partition: Partition; readonly route: string; readonly arrival: number } {
    const key = this.#key(target)
    const route = this.#route(target)
    this.#arrivals += 1
    const partition = this.#partitions.open(key, target.address.origin)
    return { partition, route, arrival: this.#arrivals }
  }

  limits(input: FetchInput, init: RequestInit): readonly KnownLimit[] {
    const target = readTarget(input, init, this.addresses)
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

  async close(options: CloseOptions): Promise<void> {
    const { drain } = checkMembers('close options', options, { drain: optional(aBoolean, false) }, '')
    this.#closed = true
    if (!drain) {
      this.#stop.abort(closedError())
      for (const partition of this.#partitions.values()) partition.queue.close()
    }
    if (this.#running > 0) await new Promise<void>((resolve) => this.#ended.push(resolve))
  }

  /** The caller's own functions may return anything. */
  #key(target: Target): string {
    return aString('partition()', this.settings.partition(target))
  }

  #route(target: Target): string {
    return aString('route()', this.settings.route(target))
  }
}
