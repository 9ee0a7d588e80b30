import { type Connection, type ConnectionEvents, openOwn } from '../connection.js'
import { type Address, nameOf } from './address.js'
import type { Seeds } from './seeds.js'

/** A connection of our own to each node that is of use. */
export interface Nodes {
  /** The connection to a node, opened now if there is none. */
  to(address: Address): Connection
  /** Those that can be written to, and where they are, in no order. */
  ready(): readonly { readonly address: Address; readonly connection: Connection }[]
  /** Closes the connections to all others, but for those used a moment ago: a call may just be on its way there. */
  keep(names: ReadonlySet<string>): void
  close(): void
}

interface Node {
  readonly address: Address
  readonly connection: Connection
  usedMs: number
}

const UNUSED_MS = 10_000
/** More than a cluster has; a reply that names more is not to be believed. */
const MOST_NODES = 1000

export function createNodes(openLink: Seeds['openLink'], timeoutMs: number, events: ConnectionEvents): Nodes {
  const nodes = new Map<string, Node>()
  return {
    to(address) {
      const name = nameOf(address)
      let node = nodes.get(name)
      if (node === undefined) {
        if (nodes.size >= MOST_NODES) throw new Error(`A Redis Cluster of more than ${MOST_NODES} nodes`)
        node = { address, connection: openOwn(openLink(address), timeoutMs, events), usedMs: 0 }
        nodes.set(name, node)
      }
      node.usedMs = performance.now()
      return node.connection
    },
    ready: () => [...nodes.values()].filter(({ connection }) => connection.ready()),
    keep(names) {
      const now = performance.now()
      for (const [name, { connection, usedMs }] of nodes) {
        if (names.has(name) || now - usedMs < UNUSED_MS) continue
        nodes.delete(name)
        connection.close()
      }
    },
    close() {
      for (const { connection } of nodes.values()) connection.close()
      nodes.clear()
    },
  }
}
