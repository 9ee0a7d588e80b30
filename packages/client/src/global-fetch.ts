import type { FetchInput } from './target.js'

export type Send = (input: FetchInput, init: RequestInit) => Promise<Response>

/** Where a client shows what it stands on, under a name that all copies of this package share. */
const mark: symbol = Symbol.for('ratepact.underlying')

/** Set in what is handed to the global fetch, with who handed it over: it survives a wait and a copy. */
const sender: unique symbol = Symbol('ratepact.sender')

export function markUnderlying(paced: object, send: Send | undefined): void {
  Reflect.defineProperty(paced, mark, { value: send })
}

/**
 * `globalThis.fetch`, looked up at each call, so that what is put there later (by MSW, say) is used. Where
 * that is the client itself, or calls it, the fetch that was there when the client was made sends. A call that comes back
 * is told by coming at once, or by its init; not so one that comes later as a Request made anew.
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

  /** Whether a call with that init is the global fetch's own: made while that is being called, or with what it was given. */
  comesBack(init: object): boolean {
    return this.#sending || (init as { [sender]?: unknown } | null)?.[sender] === this
  }

  send(input: FetchInput, init: RequestInit): Promise<Response> {
    const others = globalThis.fetch !== this.underlying && typeof init === 'object'
    const told: RequestInit = others ? Object.assign({}, init, { [sender]: this }) : init
    this.#sending = true
    try {
      return globalThis.fetch(input, told)
    } finally {
      this.#sending = false
    }
  }

  async sendBelow(input: FetchInput, init: RequestInit): Promise<Response> {
    const { underlying } = this
    if (underlying !== undefined) return underlying(input, init)
    throw new TypeError('Expected the option fetch, since globalThis.fetch is this client')
  }
}
