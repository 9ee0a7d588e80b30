import type { FetchInput } from './limited-api.js'

/** What comes of a call: an answer, or the failure that a connection has. */
export type Outcome = { readonly response: Response } | { readonly failure: unknown }

/** On the fetch of a limited API: how a front tells a connection that is to fail from a mistake in the API's options. */
export const exchange: unique symbol = Symbol('exchange')

/** A fetch function that can tell. */
export interface Telling {
  /** Rejects with what is a mistake: what `partition`, `cost` or `scope` throw. */
  readonly [exchange]: (request: Request) => Promise<Outcome>
}

/** A fetch function that may be able to. */
export type AnyFetch = ((input: FetchInput, init?: RequestInit) => Promise<Response>) & Partial<Telling>

/** The outcome of a call of any fetch function; all failures of one that cannot tell are a connection's. */
export function outcomeOf(fetch: AnyFetch, request: Request): Promise<Outcome> {
  const told = fetch[exchange]
  if (told !== undefined) return told(request)
  return fetch(request).then(
    (response) => ({ response }),
    (failure: unknown) => ({ failure }),
  )
}
