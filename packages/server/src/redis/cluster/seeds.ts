import type { IoredisClient, IoredisCluster, NodeRedisClient, NodeRedisCluster } from '../client.js'
import { ownIoredis } from '../ioredis.js'
import type { OpenLink } from '../link.js'
import { ownNodeRedis } from '../node-redis.js'
import { hearErrorsOfNodes } from '../stream.js'
import type { Address } from './address.js'

/** Nodes to begin with, and how to connect to them and any other. */
export interface Seeds {
  readonly addresses: readonly Address[]
  openLink(address: Address): OpenLink
}

/** Finds a way into the cluster. Resolves to undefined when none of the nodes that the user named answers. */
export type FindSeeds = () => Promise<Seeds | undefined>

/** An address as nodes tell it, turned into the one under which it can be reached from here. */
export type Translate = (address: Address) => Address

/** What the two clients may be told about addresses: a table by `host:port`, or a function of it. */
export function translateBy(map: unknown): Translate {
  return (address) => {
    const name = `${address.host}:${address.port}`
    const to = typeof map === 'function' ? map(name) : (map as Record<string, unknown> | undefined)?.[name]
    const { host, port } = (to ?? {}) as Partial<Address>
    return typeof host === 'string' && typeof port === 'number' ? { host, port } : address
  }
}

/**
 * A duplicate of the user's cluster looks up the names that he gave, by his own ways; its nodes are patterns for ours.
 * It is gone when they are found.
 */
export function ioredisSeeds(user: IoredisCluster): FindSeeds {
  return () =>
    new Promise((resolve) => {
      const nodes: IoredisClient[] = []
      const { redisOptions } = user.options
      const scout = user.duplicate([], {
        lazyConnect: true,
        enableReadyCheck: false,
        enableOfflineQueue: false,
        clusterRetryStrategy: () => null,
        shardedSubscribers: false,
        scripts: undefined,
        redisOptions: { ...redisOptions, connectTimeout: 2000, disconnectTimeout: 100 },
      })
      scout.on('error', () => {})
      hearErrorsOfNodes(scout)
      scout.on('+node', (node: IoredisClient) => nodes.push(node))
      const done = () => {
        scout.disconnect()
        const [pattern] = nodes
        if (pattern === undefined) return resolve(undefined)
        const keyPrefix = user.options.keyPrefix ?? ''
        resolve({
          addresses: nodes.map(({ options: { host, port } }) => ({ host, port })),
          openLink: ({ host, port }) => ownIoredis(pattern, { host, port, keyPrefix }),
        })
      }
      scout.connect().then(done, done)
    })
}

/** A node that is silent for so long is passed over; node-redis itself would wait for ever, and keep the process. */
const SILENT_SOCKET = { connectTimeout: 2000, socketTimeout: 1000 }

export function nodeRedisSeeds(user: NodeRedisCluster): FindSeeds {
  return async () => {
    const { defaults } = optionsOf(user)
    const scout: NodeRedisCluster = user.duplicate({
      minimizeConnections: true,
      clientSideCache: undefined,
      defaults: { ...defaults, socket: { ...defaults?.socket, ...SILENT_SOCKET } },
    })
    scout.on('error', () => {})
    try {
      await scout.connect()
      const [master] = scout.masters
      const pattern = (await scout.nodeClient(master)) as NodeRedisClient
      const { keyPrefix } = optionsOf(user)
      return {
        addresses: scout.masters.map(({ host, port }: Address) => ({ host, port })),
        openLink: ({ host, port }) => ownNodeRedis(pattern, { host, port }, { keyPrefix }),
      }
    } catch {
      return undefined
    } finally {
      scout.destroy()
    }
  }
}

/** What a cluster of node-redis was made with. */
export function optionsOf(cluster: NodeRedisCluster): {
  readonly keyPrefix?: unknown
  readonly nodeAddressMap?: unknown
  readonly defaults?: { readonly socket?: object }
} {
  return (cluster as { _options?: object })._options ?? {}
}
