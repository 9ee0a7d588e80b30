import { type FetchInput, isRequest } from './target.js'

type GivenHeaders = NonNullable<RequestInit['headers']>

/** The members of a RequestInit: a class hides them behind getters, and some are not enumerable. */
const members = [
  ...['body', 'cache', 'credentials', 'dispatcher', 'duplex', 'headers', 'integrity', 'keepalive'],
  ...['method', 'mode', 'priority', 'redirect', 'referrer', 'referrerPolicy', 'signal', 'rateLimit'],
]

/** What was given to fetch, read once. Bodies are not taken yet. */
export interface Given {
  readonly input: FetchInput
  readonly init: RequestInit
  readonly rateLimit: unknown
}

/**
 * Reads what was given to fetch as fetch does: at the call. It is sent later, when the caller may have
 * changed it for another call already. What makes no sense is left as it is, for fetch to refuse.
 */
export function readGiven(input: FetchInput, given: RequestInit): Given {
  const all = membersOf(given)
  const { rateLimit } = all
  const init: RequestInit = all
  if ('rateLimit' in all) Reflect.deleteProperty(all, 'rateLimit')
  if (init.headers !== undefined) init.headers = copyHeaders(init.headers as GivenHeaders)
  if (isRequest(input)) {
    // To fetch a member that is undefined is none.
    for (const [name, value] of Object.entries(variable(input)))
      if (all[name] === undefined) all[name] = value
    return { input, init, rateLimit }
  }
  // A URL may be changed, and anything else asked twice may give two answers.
  return { input: typeof input === 'object' ? String(input) : input, init, rateLimit }
}

function membersOf(given: RequestInit): Record<string, unknown> {
  const all: Record<string, unknown> = { ...given }
  if (typeof given !== 'object' || isPlain(given, all)) return all
  for (const name of members) {
    const value: unknown = name in all ? undefined : Reflect.get(given, name)
    if (value !== undefined) all[name] = value
  }
  return all
}

/** Whether a spread leaves nothing out: it misses what a class, such as Request, offers, and what is not enumerable. */
function isPlain(given: object, spread: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.getOwnPropertyNames(given).length === Object.keys(spread).length
}

/** What of a Request can be changed, and what an init that is not empty would take away from it. */
function variable({ headers, referrer, referrerPolicy }: Request): RequestInit {
  const init: RequestInit = { headers: copyHeaders(headers) }
  if (referrer !== undefined && referrer !== 'about:client') init.referrer = referrer
  if (referrerPolicy) init.referrerPolicy = referrerPolicy
  return init
}

/** In the form they were given in, since their order and case may matter to whoever sends them. */
function copyHeaders(headers: GivenHeaders): GivenHeaders {
  if (typeof headers !== 'object' || headers === null) return headers
  if (headers instanceof Headers) return new Headers(headers)
  if (Symbol.iterator in headers) return Array.from(headers as Iterable<[string, string]>, copyPair)
  return { ...headers }
}

function copyPair(pair: [string, string]): [string, string] {
  return typeof pair === 'object' && pair !== null && Symbol.iterator in pair ? [...pair] : pair
}
