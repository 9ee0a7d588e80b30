import { type HttpHandler, HttpResponse, http } from 'msw'
import { outcomeOf } from './exchange.js'
import type { LimitedApi } from './limited-api.js'

/**
 * Serves a limited API to Mock Service Worker: what a program sends by fetch is answered by the API. What `respond`
 * throws is a network error; what `partition`, `cost` or `scope` throw is MSW's `unhandledException`, and a 500 that
 * says what it was.
 * @param url which requests, as MSW has it: `https://api.example/*`. All of them by default.
 * @example
 * const server = setupServer(...limitedHandlers(api))
 * server.listen()
 */
export function limitedHandlers(api: Pick<LimitedApi, 'fetch'>, url: string | RegExp = '*'): HttpHandler[] {
  return [
    http.all(url, async ({ request }) => {
      // MSW reports what is thrown and makes a 500 of it, which is right for a mistake in the API's options.
      const outcome = await outcomeOf(api.fetch, request)
      return 'failure' in outcome ? HttpResponse.error() : outcome.response
    }),
  ]
}
