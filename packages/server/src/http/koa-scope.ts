import type { Trust } from './address-watch.js'
import { scopeOf } from './scope.js'

/** As much of Koa's context as tells which route it is for. */
export interface RoutedByKoa {
  readonly method: string
  readonly path: string
  readonly originalUrl: string
  /** Set by `@koa/router`: the whole pattern of the layer that is run, with the prefixes of the routers around it. */
  readonly _matchedRoute?: unknown
  /** Set by `koa-mount`: under which path what is run is mounted. */
  readonly mountPath?: unknown
  /** Koa's own request, which reads `path` from the target that its Node request has. */
  readonly request?: object
}

/** Method and route pattern of a request; before routing, the path that the app is mounted under. */
export function koaScope(context: RoutedByKoa): string {
  const { method, _matchedRoute: route } = context
  const pattern = typeof route === 'string' || route instanceof RegExp ? String(route) : ''
  return scopeOf(method, `${mountOf(context)}${pattern}`.replace(/\/+$/, ''))
}

/** The mark of a mount stays when that has passed a request on; then the path is the whole one again. */
function mountOf(context: RoutedByKoa): string {
  const { path, mountPath } = context
  return typeof mountPath === 'string' && wholePath(context) !== path ? mountPath.replace(/\/+$/, '') : ''
}

/** The path before any mount, which Koa itself reads: of a target such as `http://host/path`, no text is the path. */
function wholePath({ request = {}, originalUrl }: RoutedByKoa): unknown {
  const whole: { readonly path?: unknown } = Object.create(request, { req: { value: { url: originalUrl } } })
  return whole.path
}

/** As much of Koa's context as tells whom it believes about addresses. */
export interface TrustedByKoa {
  readonly app?: { readonly proxy?: boolean; readonly maxIpsCount?: number }
}

/** Whom Koa was told to believe about addresses. Without a count it takes the first that is named, which anybody can send. */
export function koaTrust({ app }: TrustedByKoa): Trust {
  if (app?.proxy !== true) return 'none'
  return app.maxIpsCount ? 'some' : 'all'
}
