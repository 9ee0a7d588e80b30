import { expected } from '../expect.js'

/**
 * What is used of a Redis client, so that nobody needs the types of a client he does not have. `Redis` and `Cluster`
 * of ioredis 5 and 6 fit as they are, and what `createClient` and `createCluster` of node-redis 5 and 6 give.
 */
export type RedisClient = IoredisClient | IoredisCluster | NodeRedisClient | NodeRedisCluster

/** What is used of `Redis` of ioredis, also where it finds its server through Sentinel. */
export interface IoredisClient extends IoredisCommands {
  // biome-ignore lint/suspicious/noExplicitAny: each major version of ioredis has its own type of options
  duplicate(overrides?: any): IoredisClient
}

/** What is used of `Cluster` of ioredis. */
export interface IoredisCluster extends IoredisCommands {
  readonly isCluster: boolean
  // biome-ignore lint/suspicious/noExplicitAny: each major version of ioredis has its own type of options
  duplicate(startupNodes?: any, overrides?: any): IoredisCluster
}

/** What both clients of ioredis have in common. */
export interface IoredisCommands {
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  call(command: string, ...args: string[]): Promise<unknown>
  connect(): Promise<void>
  disconnect(): void
  // biome-ignore lint/suspicious/noExplicitAny: listeners differ by event
  on(event: string, listener: (...values: any[]) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: listeners differ by event
  off(event: string, listener: (...values: any[]) => void): unknown
  readonly status: string
  // biome-ignore lint/suspicious/noExplicitAny: each major version of ioredis has its own type of options
  readonly options: any
}

/** What is used of a client that `createClient` of node-redis gives. */
export interface NodeRedisClient extends NodeRedisCommands {
  readonly isReady: boolean
  sendCommand(args: string[]): Promise<unknown>
  // biome-ignore lint/suspicious/noExplicitAny: the options depend on the client's own modules and types
  duplicate(overrides?: any): any
  unref(): void
  // biome-ignore lint/suspicious/noExplicitAny: the options depend on the client's own modules and types
  readonly options: any
}

/** What is used of a client that `createCluster` of node-redis gives. */
export interface NodeRedisCluster extends NodeRedisCommands {
  // biome-ignore lint/suspicious/noExplicitAny: the options depend on the client's own modules and types
  duplicate(overrides?: any): any
  // biome-ignore lint/suspicious/noExplicitAny: nodes are only handed on to `nodeClient`
  readonly masters: readonly any[]
  // biome-ignore lint/suspicious/noExplicitAny: nodes are what `masters` holds
  nodeClient(node: any): Promise<unknown>
}

/** What both clients of node-redis have in common. */
export interface NodeRedisCommands {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  connect(): Promise<unknown>
  destroy(): void
  // biome-ignore lint/suspicious/noExplicitAny: listeners differ by event
  on(event: string, listener: (...values: any[]) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: listeners differ by event
  off(event: string, listener: (...values: any[]) => void): unknown
  readonly isOpen: boolean
  readonly isReady?: boolean
}

/** A client, and which of those that we know it is. */
export type KnownClient =
  | { readonly is: 'ioredis'; readonly client: IoredisClient }
  | { readonly is: 'ioredis cluster'; readonly client: IoredisCluster }
  | { readonly is: 'node-redis'; readonly client: NodeRedisClient }
  | { readonly is: 'node-redis cluster'; readonly client: NodeRedisCluster }

const WANTED = 'a Redis client (of ioredis or node-redis, or a cluster of either)'

/** Tells clients apart by what they can do. @throws TypeError for what is none, saying what is wrong with it */
export function knownClient(client: unknown): KnownClient {
  const it = (typeof client === 'object' && client !== null ? client : {}) as Record<string, unknown>
  const has = (...names: string[]) => names.every((name) => typeof it[name] === 'function')
  if (has('evalsha', 'call', 'duplicate', 'connect', 'disconnect') && typeof it.status === 'string')
    return it.isCluster === true
      ? { is: 'ioredis cluster', client: client as IoredisCluster }
      : { is: 'ioredis', client: client as IoredisClient }
  if (has('execute', 'evalSha'))
    throw new TypeError('redisStore does not take a pool of node-redis: give it a client of createClient()')
  if (has('acquire', 'evalSha'))
    throw new TypeError(
      'redisStore does not take a Sentinel of node-redis: give it new Redis({ sentinels, name }) of ioredis',
    )
  if (has('evalSha', 'duplicate') && !has('destroy'))
    throw new TypeError('redisStore takes node-redis 5 or newer; this client is of an older version')
  if (has('evalSha', 'duplicate', 'nodeClient'))
    return { is: 'node-redis cluster', client: client as NodeRedisCluster }
  if (has('evalSha', 'sendCommand', 'duplicate', 'unref'))
    return { is: 'node-redis', client: client as NodeRedisClient }
  throw new TypeError(expected('client', WANTED, client))
}
