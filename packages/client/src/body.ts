import { cancelBody } from './cancel.js'
import { type FetchInput, isRequest } from './target.js'

export type Body = NonNullable<RequestInit['body']>

/** Makes the body of one attempt. */
export type BodyFactory = () => Body | null | Promise<Body | null>

/** The arguments of fetch for one attempt. */
export interface Arguments {
  readonly input: FetchInput
  readonly init: RequestInit
}

/** What is handed to fetch, as often as it can be handed. */
export interface Outgoing {
  /** Whether the body can be sent more than once. */
  readonly repeatable: boolean
  /**
   * The arguments for one attempt.
   * @param last whether no attempt can follow: what is only kept for another one is then not kept
   */
  next(last: boolean): Arguments | Promise<Arguments>
  /** Lets go of what was kept for an attempt that never came. */
  done(): unknown
}

/** Takes the body as it is now: what the caller changes afterwards changes nothing. */
export function outgoing(input: FetchInput, init: RequestInit): Outgoing {
  const body: unknown = init.body
  if (isNone(body) && isRequest(input) && hasBody(input)) return outgoingRequest(input, init)
  const made = typeof body === 'function'
  const taken = isNone(body) || made ? init : { ...init, body: copyBody(body as Body) }
  let unsent = isConsumable(body)
  return {
    repeatable: !unsent,
    next() {
      unsent = false
      return made ? withBody(input, init, body as BodyFactory) : { input, init: taken }
    },
    // fetch does so for a call that was aborted before; what is never sent holds nothing open.
    done: () => unsent && cancelBody(body),
  }
}

function isNone(body: unknown): boolean {
  return body === undefined || body === null
}

async function withBody(input: FetchInput, init: RequestInit, make: BodyFactory): Promise<Arguments> {
  const body = await make()
  // fetch asks for it with every stream, and allows no other value.
  return { input, init: { ...init, body, ...(isConsumable(body) ? { duplex: 'half' } : {}) } }
}

/** A Request gives its body once, so each attempt that another may follow leaves a clone behind. */
function outgoingRequest(request: Request, init: RequestInit): Outgoing {
  const taken = takeOver(request)
  let kept: Request | undefined = taken
  return {
    repeatable: true,
    next(last: boolean): Arguments {
      const input: Request = kept ?? taken
      // A body that is used up already is fetch's to refuse.
      kept = last || input.bodyUsed ? undefined : input.clone()
      return { input, init }
    },
    done(): void {
      if (kept !== undefined && kept !== request) cancelBody(kept.body)
      kept = undefined
    },
  }
}

/**
 * Uses the Request up, as fetch does at the call. Its signal is followed by the call and not by the new
 * Request, which would leave a listener on it. Other implementations cannot be constructed here.
 */
function takeOver(request: Request): Request {
  return request instanceof Request ? new Request(request, { signal: null }) : request
}

/** Where `body` is not offered (older Firefox), a method that allows a body is taken to have one. */
function hasBody(request: Request): boolean {
  if (request.body === undefined) return request.method !== 'GET' && request.method !== 'HEAD'
  return request.body !== null
}

/** fetch takes a body's bytes before it returns; a call that waits has to do the same. */
function copyBody(body: Body): Body {
  if (body instanceof ArrayBuffer) return body.slice(0)
  // Shared memory is left as it is: fetch refuses it.
  if (ArrayBuffer.isView(body) && body.buffer instanceof ArrayBuffer) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
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
