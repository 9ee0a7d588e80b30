import { Client } from './client.js'
import { markUnderlying } from './global-fetch.js'
import { type ClientOptions, readOptions } from './options.js'
import type { CloseOptions, RatepactFetch, RatepactInit } from './paced-fetch.js'
import type { FetchInput } from './target.js'

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
  return Object.defineProperties(paced as RatepactFetch, {
    limits: { value: (input: FetchInput, init?: RatepactInit) => client.limits(input, init ?? {}) },
    queue: { get: () => client.queue },
    close: { value: (closing: CloseOptions = {}) => client.close(closing) },
  })
}
