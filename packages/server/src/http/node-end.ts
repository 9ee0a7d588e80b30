/** As much of an answer of Node's, over HTTP/1.1 or HTTP/2, as tells of its end. */
export interface NodeEnding {
  readonly destroyed?: boolean
  readonly writableEnded?: boolean
  /** Of HTTP/2, where the answer itself does not say that it has been given up. */
  readonly stream?: NodeStream | undefined
  readonly req?:
    | { readonly method?: string | undefined; readonly socket?: NodeSocket | null | undefined }
    | undefined
  once(event: 'close', listener: () => void): unknown
}

interface NodeStream {
  readonly destroyed: boolean
  readonly closed?: boolean
  readonly rstCode?: number | undefined
}

/** One that a bridge to a platform without sockets has made up may be able to nothing. */
interface NodeSocket {
  readonly destroyed?: boolean
  once?(event: 'close', listener: () => void): unknown
}

/**
 * Whether nobody can get this answer any more. Up to version 22, Node keeps an HTTP/2 stream for ever whose client has
 * reset it without an error before all was sent: it is closed, and never destroyed.
 */
export function isGone({ destroyed, stream, req }: NodeEnding): boolean {
  if (stream !== undefined) return stream.destroyed || stream.closed === true
  return destroyed === true || req?.socket?.destroyed === true
}

/**
 * Calls back once: when an answer is complete, or when nobody can get it any more; at once where that is so already.
 * Node tells an answer that waits behind another on its connection nothing of the end of that connection.
 */
export function atEnd(response: NodeEnding, listener: () => void): void {
  if (response.writableEnded === true || isGone(response)) {
    listener()
    return
  }
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    leave?.()
    listener()
  }
  const leave = response.stream === undefined ? atClose(response.req?.socket, end) : onceGone(response, end)
  response.once('close', end)
}

/** Answers that are looked at, since Node may not tell of their end. */
const LOOKED_AT = new Map<() => void, NodeEnding>()
const LOOK_MS = 1000
let looking: unknown

/** @returns what ends the looking */
function onceGone(response: NodeEnding, listener: () => void): () => void {
  LOOKED_AT.set(listener, response)
  looking ??= every(LOOK_MS, () => {
    for (const [end, answer] of LOOKED_AT) if (isGone(answer)) end()
  })
  return () => {
    LOOKED_AT.delete(listener)
    if (LOOKED_AT.size > 0) return
    clearInterval(looking as never)
    looking = undefined
  }
}

/** Keeps no process alive. */
function every(ms: number, run: () => void): unknown {
  const timer: unknown = setInterval(run, ms)
  ;(timer as { unref?: () => void }).unref?.()
  return timer
}

/** One listener for each connection, however many requests a client has sent ahead on it. */
const WAITING = new WeakMap<NodeSocket, Set<() => void>>()

/** @returns what ends the waiting; nothing where the socket cannot be waited for */
function atClose(socket: NodeSocket | null | undefined, listener: () => void): (() => void) | undefined {
  if (typeof socket?.once !== 'function') return undefined
  const waiting = WAITING.get(socket) ?? new Set()
  if (!WAITING.has(socket)) {
    WAITING.set(socket, waiting)
    socket.once('close', () => {
      for (const end of waiting) end()
    })
  }
  waiting.add(listener)
  return () => waiting.delete(listener)
}
