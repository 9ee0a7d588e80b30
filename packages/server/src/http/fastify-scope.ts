import { type Trust, trustsAnybody } from './address-watch.js'
import { scopeOf } from './scope.js'

/** As much of Fastify's request as tells which route it is for. */
export interface RoutedByFastify {
  readonly method: string
  readonly is404: boolean
  readonly routeOptions: { readonly url?: string | undefined }
}

/** What no route takes is one scope for all. */
const NO_ROUTE = '*'

/**
 * Method and route pattern, which Fastify knows from the first hook on. With and without a slash at its end it is one
 * route to those who call it, whatever Fastify keeps for each.
 */
export function fastifyScope({ method, is404, routeOptions: { url } }: RoutedByFastify): string {
  return scopeOf(method, is404 || url === undefined ? NO_ROUTE : url.replace(/\/+$/, ''))
}

/** As much of Fastify's request as tells whom it believes about addresses. */
interface TrustedByFastify {
  readonly server?: object
  /** Only where it was told to believe anybody. */
  readonly ips?: readonly string[] | undefined
}

/** Whom Fastify was told to believe about addresses. What exactly it was told, it keeps under a symbol of its own. */
export function fastifyTrust(request: object): Trust {
  const { server = {}, ips } = request as TrustedByFastify
  if (ips === undefined) return 'none'
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'fastify.options',
  )
  const options =
    key && (server as Readonly<Record<symbol, { readonly trustProxy?: unknown } | undefined>>)[key]
  const setting = options?.trustProxy
  return setting === true || trustsAnybody(setting) ? 'all' : 'some'
}
