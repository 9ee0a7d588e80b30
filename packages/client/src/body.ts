import { type FetchInput, isRequest } from './target.js'

/** The members of a RequestInit, for one that is an instance of a class and hides them behind getters. */
const members = [
  ...['body', 'cache', 'credentials', 'dispatcher', 'duplex', 'headers', 'integrity', 'keepalive'],
  ...['method', 'mode', 'priority', 'redirect', 'referrer', 'referrerPolicy', 'signal'],
]

/** What is handed to fetch, as often as it can be handed. */
export interface Outgoing {
  /** Whether the body can be sent more than once. */
  readonly repeatable: boolean
  /**
   * The arguments for one attempt.
   * @param last whether no attempt can follow: what is only kept for another one is then not kept
   */
  next(last: boolean): { readonly input: FetchInput; readonly init: RequestInit }
  /** Lets go of what was kept for an attempt that never came. */
  done(): void
}

/** Takes what was given to fetch as it is now: what the caller changes afterwards changes nothing. */
export function outgoing(input: FetchInput, given: RequestInit): Outgoing {
  const init = copyInit(given)
  if (init.body === undefined || init.body === null) {
    if (isRequest(input) && hasBody(input)) return outgoingRequest(input, init)
    return { repeatable: true, next: () => ({ input, init }), done: () => {} }
  }
  init.body = copyBody(init.body)
  return { repeatable: !isConsumable(init.body), next: () => ({ input, init }), done: () => {} }
}

/** A Request gives its body once, so each attempt that another may follow leaves a clone behind. */
function outgoingRequest(request: Request, init: RequestInit): Outgoing {
  let kept: Request | undefined = request
  return {
    repeatable: true,
    next(last: boolean): { input: FetchInput; init: RequestInit } {
      const input: Request = kept ?? request
      // A body that is used up already is fetch's to refuse.
      kept = last || input.bodyUsed ? undefined : input.clone()
      return { input, init }
    },
    done(): void {
      if (kept !== undefined && kept !== request) kept.body?.cancel().catch(() => {})
      kept = undefined
    },
  }
}

/** Where `body` is not offered (older Firefox), a method that allows a body is taken to have one. */
function hasBody(request: Request): boolean {
  if (request.body === undefined) return request.method !== 'GET' && request.method !== 'HEAD'
  return request.body !== null
}

function copyInit(given: RequestInit): RequestInit {
  const prototype: unknown = Object.getPrototypeOf(given)
  const { rateLimit, ...init }: RequestInit & { rateLimit?: unknown } =
    prototype === Object.prototype || prototype === null ? given : membersOf(given)
  const { headers } = init
  // An iterator gives its headers once, and each attempt needs them.
  if (typeof headers === 'object' && 'next' in headers) {
    init.headers = new Headers(headers as unknown as [string, string][])
  }
  return init
}

/** Spreading would miss what a class, such as Request, offers through getters. */
function membersOf(given: RequestInit): RequestInit {
  const all: Record<string, unknown> = {}
  for (const name of members) {
    const value: unknown = Reflect.get(given, name)
    if (value !== undefined) all[name] = value
  }
  return all
}

/** fetch takes a body's bytes before it returns; a call that waits has to do the same. */
function copyBody(body: NonNullable<RequestInit['body']>): NonNullable<RequestInit['body']> {
  if (body instanceof ArrayBuffer) return body.slice(0)
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength).slice()
  }
  if (body instanceof URLSearchParams) return new URLSearchParams(body)
  if (body instanceof FormData) {
    const copy = new FormData()
    for (const [name, value] of body) copy.append(name, value)
    return copy
  }
  return body
}

/** Streams and their like, web or Node: reading them uses them up. */
function isConsumable(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  return 'getReader' in body || Symbol.asyncIterator in body || 'pipe' in body
}
