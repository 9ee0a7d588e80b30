interface Emitter {
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** Those who listen to a client, and the one listener by which they are told. */
interface Audience {
  readonly listeners: Set<() => void>
  readonly tell: () => void
}

const audiences = new WeakMap<Emitter, Audience>()

/**
 * Listens to a client that others of us may listen to: it has one listener for all, since it warns of more than ten.
 * @param events the same for all who listen to a client
 * @returns ends it
 */
export function listen(client: Emitter, events: readonly string[], listener: () => void): () => void {
  const { listeners, tell } = audiences.get(client) ?? gather(client, events)
  listeners.add(listener)
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return
    audiences.delete(client)
    for (const event of events) client.off(event, tell)
  }
}

function gather(client: Emitter, events: readonly string[]): Audience {
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of [...listeners]) listener()
  }
  const audience = { listeners, tell }
  audiences.set(client, audience)
  for (const event of events) client.on(event, tell)
  return audience
}
