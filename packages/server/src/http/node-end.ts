/** As much of an answer of Node's, over HTTP/1.1 or HTTP/2, as tells of its end. */
export interface NodeEnding {
  readonly destroyed?: boolean
  readonly writableEnded?: boolean
  /** Of HTTP/2, where the answer itself does not say that it has been given up. */
  readonly stream?: { readonly destroyed: boolean; readonly rstCode?: number | undefined } | undefined
  readonly req?:
    | { readonly method?: string | undefined; readonly socket?: NodeSocket | null | undefined }
    | undefined
  once(event: 'close', listener: () => void): unknown
}

interface NodeSocket {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** Whether nobody can get this answer any more. */
export function isGone({ destroyed, stream, req }: NodeEnding): boolean {
  if (stream !== undefined) return stream.destroyed
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
  const socket = response.stream === undefined ? response.req?.socket : undefined
  const leave = socket ? atClose(socket, end) : undefined
  response.once('close', end)
}

/** One listener for each connection, however many requests a client has sent ahead on it. */
const WAITING = new WeakMap<NodeSocket, Set<() => void>>()

/** @returns what ends the waiting */
function atClose(socket: NodeSocket, listener: () => void): () => void {
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
