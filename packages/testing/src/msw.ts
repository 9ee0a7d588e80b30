import { type HttpHandler, HttpResponse, http } from 'msw'
import type { LimitedApi } from './limited-api.js'

/**
 * Serves a limited API to Mock Service Worker: what a program sends by fetch is answered by the API.
 * @param url which requests, as MSW has it: `https://api.example/*`. All of them by default.
 * @example
 * const server = setupServer(...limitedHandlers(api))
 * server.listen()
 */
export function limitedHandlers(api: Pick<LimitedApi, 'fetch'>, url: string | RegExp = '*'): HttpHandler[] {
  // MSW would make a 500 of what is thrown; the API means a connection that failed.
  return [http.all(url, ({ request }) => api.fetch(request).catch(() => HttpResponse.error()))]
}
