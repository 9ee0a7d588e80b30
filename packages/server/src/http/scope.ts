const KNOWN = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'TRACE', 'CONNECT'])

/**
 * The scope of a call: its method and the pattern of its route. HEAD asks for what GET asks for and shares its
 * bucket; methods that are not known share one, so that inventing some makes no new ones.
 * @param pattern as the routes have it, never with what a client writes in its place
 * @example scope: (_request, c) => scopeOf(c.req.method, routePath(c, -1))
 */
export function scopeOf(method: string | undefined, pattern: string): string {
  const upper = method?.toUpperCase() ?? ''
  const known = upper === 'HEAD' ? 'GET' : KNOWN.has(upper) ? upper : '*'
  return `${known} ${pattern === '' ? '/' : pattern}`
}
