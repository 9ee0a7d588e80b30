import type { Address, Addresses } from './address.js'

/** What a call is about, as `partition` and `route` functions see it: a `Request` without its body. */
export interface OutgoingRequest {
  /** The absolute URL. */
  readonly url: string
  readonly method: string
  readonly headers: Headers
}

/** What fetch takes. */
export type FetchInput = Parameters<typeof globalThis.fetch>[0]

/** Whether the input is a Request, of whichever implementation. */
export function isRequest(input: FetchInput): input is Request {
  return typeof input === 'object' && input !== null && 'url' in input && 'headers' in input
}

/** A call's target, read without touching its body. */
export class Target implements OutgoingRequest {
  readonly address: Address
  readonly method: string
  readonly #given: RequestInit['headers']
  #headers: Headers | undefined

  constructor(address: Address, method: string, given: RequestInit['headers']) {
    this.address = address
    this.method = method
    this.#given = given
  }

  /** The same target, with those headers. */
  with(headers: RequestInit['headers']): Target {
    return headers === this.#given ? this : new Target(this.address, this.method, headers)
  }

  /** No headers were given. */
  get bare(): boolean {
    return this.#given === undefined
  }

  get url(): string {
    return this.address.location.href
  }

  get headers(): Headers {
    this.#headers ??= new Headers(this.#given)
    return this.#headers
  }
}

/**
 * The target of what was given to fetch; undefined for what is not HTTP or not a URL at all, which fetch
 * itself then serves or refuses in its own words.
 */
export function readTarget(input: FetchInput, init: RequestInit, addresses: Addresses): Target | undefined {
  const request = isRequest(input) ? input : undefined
  const address = addresses.read(request?.url ?? String(input))
  if (address === undefined) return undefined
  const method = String(init.method ?? request?.method ?? 'GET').toUpperCase()
  return new Target(address, method, init.headers)
}
