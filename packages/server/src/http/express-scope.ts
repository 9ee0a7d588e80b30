import { type Trust, trustsAnybody } from './address-watch.js'
import { scopeOf } from './scope.js'

/** As much of Express's request as tells where in the app it is being handled. */
export interface Routed {
  readonly method?: string | undefined
  /** The part of the path that mounts have taken: real values, not patterns. */
  readonly baseUrl?: string | undefined
  readonly route?: { readonly path: unknown } | undefined
  readonly app?: App | undefined
}

interface App {
  get?(setting: string): unknown
  /** Express 5. */
  readonly router?: Stacked
  /** Express 4. */
  readonly _router?: Stacked
  readonly parent?: App
}

interface Stacked {
  readonly stack?: readonly Layer[]
}

/** One entry of a router: something mounted under a path, or a route. */
interface Layer {
  readonly name?: string
  readonly handle: Stacked
  readonly route?: unknown
  /** Express 4: the pattern, compiled. */
  readonly regexp?: RegExp
  readonly keys?: readonly { readonly name: string | number }[]
  /** Where `match` answers true: what it matched. */
  readonly path?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly matchers?: readonly { readonly name: string }[]
  match(path: string): boolean | { readonly path: string; readonly pattern: unknown }
}

interface Mount {
  readonly matched: string
  readonly pattern: string
}

/** A mount that cannot be told is one for all: its real path would give everybody a bucket for each value. */
const UNKNOWN = '*'
/** Layers looked at for one request, in an app whose routers may contain each other. */
const MOST_LAYERS = 2_000

/**
 * Method and route pattern of a request, for Express 4 and 5: `GET /accounts/:id/orders`. Before routing it is the
 * pattern of the mount. Express keeps the route's pattern but only the real path of the mounts above it, so these
 * are looked up in the app: among the routers that explain that path, the one that holds this middleware. A route
 * that has passed the request on is still the route of the middleware after it, as Express has it.
 */
export function expressScope(request: Routed, middleware: unknown): string {
  const mount = mountPattern(request, middleware)
  const route = request.route === undefined ? '' : patternText(request.route.path)
  return scopeOf(request.method, route === '/' && mount !== '' ? mount : mount + route)
}

function mountPattern({ baseUrl, app, route }: Routed, middleware: unknown): string {
  if (baseUrl === undefined || baseUrl === '') return ''
  const [first, ...inner] = appsDownTo(app)
  if (first === undefined) return UNKNOWN
  const holds = (layer: Layer) =>
    layer.handle === middleware || (route !== undefined && layer.route === route)
  const exact = (layer: Layer, below: readonly Layer[] | undefined) =>
    layer.handle === middleware || below?.some(holds) === true
  // A middleware wrapped in a function of the user's is found nowhere; then whatever explains the path will do.
  for (const accept of [exact, () => true]) {
    const pattern = explain(stackOf(first), inner, baseUrl, accept, { left: MOST_LAYERS })
    if (pattern !== undefined) return pattern
  }
  return UNKNOWN
}

/** The app that handles the request, below the apps that it is mounted in, outermost first. */
function appsDownTo(app: App | undefined): readonly App[] {
  const apps: App[] = []
  for (let at = app; at !== undefined && apps.length < 100; at = at.parent) apps.unshift(at)
  return apps
}

/** `router` only where there is no `_router`: to read it throws in Express 4. */
function stackOf(app: App): readonly Layer[] {
  return (app._router ?? app.router)?.stack ?? []
}

/** Whom Express was told to believe about addresses. */
export function expressTrust({ app }: Routed): Trust {
  const setting = app?.get?.('trust proxy')
  if (setting === undefined || setting === false) return 'none'
  return setting === true || trustsAnybody(app?.get?.('trust proxy fn')) ? 'all' : 'some'
}

/** The patterns of the mounts that take up `rest` wholly and end at an accepted layer. */
function explain(
  stack: readonly Layer[],
  apps: readonly App[],
  rest: string,
  accept: (layer: Layer, below: readonly Layer[] | undefined) => boolean,
  budget: { left: number },
): string | undefined {
  for (const [index, layer] of stack.entries()) {
    budget.left -= 1
    if (budget.left < 0) return undefined
    const mount = layer.route === undefined ? mountOf(layer, rest, index) : undefined
    if (mount === undefined) continue
    const left = rest.slice(mount.matched.length)
    const [app, ...deeper] = apps
    const isApp = layer.name === 'mounted_app' && app !== undefined
    const below = isApp ? stackOf(app) : layer.handle.stack
    if (left === '' && accept(layer, below)) return mount.pattern
    const found = below && explain(below, isApp ? deeper : apps, left, accept, budget)
    if (found !== undefined) return mount.pattern + found
  }
  return undefined
}

function mountOf(layer: Layer, rest: string, index: number): Mount | undefined {
  try {
    const match = layer.match(rest)
    if (match === false) return undefined
    const matched = (match === true ? layer.path : match.path) ?? ''
    const next = rest[matched.length]
    if (!rest.startsWith(matched) || (next !== undefined && next !== '/')) return undefined
    if (matched === '') return { matched, pattern: '' }
    return { matched, pattern: mountText(match === true ? undefined : match.pattern, layer, index) }
  } catch {
    // Some layer's pattern takes this path for its own and finds it badly encoded.
    return undefined
  }
}

function mountText(pattern: unknown, layer: Layer, index: number): string {
  const { regexp, keys = [], params = {}, matchers = [], path = '' } = layer
  if (pattern !== undefined) return patternText(pattern).replace(/\/$/, '')
  if (regexp !== undefined) return compiledText(regexp, keys)
  // Express 5.0 to 5.2 keep no pattern. A path without parameters is its own; any other goes by its place.
  const names = Object.keys(params)
  const fixed = names.length === 0 && matchers.every(({ name }) => name !== 'regexpMatcher')
  return fixed ? path.toLowerCase() : `/:${names.join(':')}#${index}`
}

/** What Express 4 compiled, read back where it is of the plain kind, else as it is. */
function compiledText(regexp: RegExp, keys: readonly { readonly name: string | number }[]): string {
  let taken = 0
  const text = regexp.source
    .replace(/^\^/, '')
    .replace(/\\\/\?\(\?=\\\/\|\$\)$/, '')
    .replace(/\(\?:(\\\/)?\(\[\^\\?\/\]\+\?\)\)/g, (_, slash = '') => `${slash}:${keys[taken++]?.name}`)
  return /^(?:[\w:~-]|\\[/.])*$/.test(text) ? text.replaceAll('\\', '') : patternText(regexp)
}

function patternText(path: unknown): string {
  if (typeof path === 'string') return path
  if (Array.isArray(path)) return path.map(patternText).join(',')
  return path instanceof RegExp ? String(path) : UNKNOWN
}
