import type { FetchInput } from './target.js'

export type Send = (input: FetchInput, init: RequestInit) => Promise<Response>

/** Where a client shows what it stands on, under a name that all copies of this package share. */
const mark: symbol = Symbol.for('ratepact.underlying')

export function markUnderlying(paced: object, send: Send | undefined): void {
  Reflect.defineProperty(paced, mark, { value: send })
}

/**
 * `globalThis.fetch`, looked up at each call, so that what is put there later (by MSW, say) is used. Where
 * that is the client itself, or calls it, the fetch that was there when the client was made sends.
 */
export class GlobalFetch {
  /** Not itself a client that would look the global one up. */
  readonly underlying: Send | undefined
  #sending = false

  constructor() {
    const there: Send | undefined = globalThis.fetch
    this.underlying =
      there === undefined ? undefined : ((Reflect.get(there, mark) as Send | undefined) ?? there)
  }

  /** Whether the global fetch is being called right now, so that a call made meanwhile is its own. */
  get sending(): boolean {
    return this.#sending
  }

  send(input: FetchInput, init: RequestInit): Promise<Response> {
    this.#sending = true
    try {
      return globalThis.fetch(input, init)
    } finally {
      this.#sending = false
    }
  }

  async sendBelow(input: FetchInput, init: RequestInit): Promise<Response> {
    const { underlying } = this
    if (underlying !== undefined) return underlying(input, init)
    throw new TypeError('globalThis.fetch is this client, and there was none before it: set the option fetch')
  }
}
