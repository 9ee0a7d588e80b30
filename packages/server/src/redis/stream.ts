import type { IoredisCommands } from './client.js'

/** What is used of the socket of a client of ioredis. */
export interface Stream {
  on(event: 'error', listener: () => void): unknown
  listeners(event: 'error'): readonly unknown[]
  unref?(): void
  cork?(): void
  uncork?(): void
}

/** The socket that a client of ioredis has now; a cluster has none of its own. */
export function streamOf(client: object): Stream | undefined {
  return (client as { stream?: Stream }).stream
}

const heard = new WeakSet<object>()

/**
 * Hears what a client of ioredis does not: it listens for a socket's first error, and one over TLS may have a second,
 * which ends the process if nobody hears it. It goes on for as long as the client: calls of ours may be under way.
 */
export function hearErrors(client: IoredisCommands): void {
  hear(streamOf(client))
  if (heard.has(client)) return
  heard.add(client)
  client.on('connect', () => hear(streamOf(client)))
}

/** The same for each node of a cluster, those that come later too. */
export function hearErrorsOfNodes(cluster: IoredisCommands): void {
  const { nodes } = cluster as { nodes?(role: 'all'): readonly IoredisCommands[] }
  for (const node of nodes?.call(cluster, 'all') ?? []) hearErrors(node)
  if (heard.has(cluster)) return
  heard.add(cluster)
  cluster.on('+node', hearErrors)
}

function hear(stream: Stream | undefined): void {
  if (stream !== undefined && !stream.listeners('error').includes(ignore)) stream.on('error', ignore)
}

function ignore(): void {}
