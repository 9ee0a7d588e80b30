import type { Op, StoreEvent } from '../store.js'
import type { KnownClient } from './client.js'
import { clusterRoutes } from './cluster/routes.js'
import { ioredisSeeds, nodeRedisSeeds, optionsOf, translateBy } from './cluster/seeds.js'
import { openOwn, openShared } from './connection.js'
import { ownIoredis, sharedIoredis } from './ioredis.js'
import type { OpenLink, SharedLink } from './link.js'
import { ownNodeRedis, sharedNodeRedis } from './node-redis.js'
import { oneServer, type Routes } from './routes.js'

export interface RoutesEvents {
  /** There is a connection (again). */
  ready(): void
  report(event: StoreEvent): void
}

/**
 * The routes that a user's client gives, over connections of our own.
 * @param timeoutMs how long a call may take
 */
export function openRoutes(
  known: KnownClient,
  slotOf: (op: Op) => number,
  timeoutMs: number,
  events: RoutesEvents,
): Routes {
  switch (known.is) {
    case 'ioredis':
      return ownServer(ownIoredis(known.client), timeoutMs, events)
    case 'node-redis':
      return ownServer(ownNodeRedis(known.client), timeoutMs, events)
    case 'ioredis cluster': {
      expectNoTag(prefixOf(known))
      const translate = translateBy(known.client.options.natMap)
      return clusterRoutes({ find: ioredisSeeds(known.client), translate, slotOf, timeoutMs }, events)
    }
    case 'node-redis cluster': {
      expectNoTag(prefixOf(known))
      const translate = translateBy(optionsOf(known.client).nodeAddressMap)
      return clusterRoutes({ find: nodeRedisSeeds(known.client), translate, slotOf, timeoutMs }, events)
    }
  }
}

/** The routes through a user's client itself. A cluster's finds the nodes, but each call must be of one slot. */
export function shareRoutes(
  known: KnownClient,
  slotOf: (op: Op) => number,
  _timeoutMs: number,
  events: RoutesEvents,
): Routes {
  if (isCluster(known)) expectNoTag(prefixOf(known))
  const routes = oneServer(openShared(sharedLink(known, () => readyOf(events))))
  return isCluster(known) ? { ...routes, placeOf: slotOf } : routes
}

export function isCluster({ is }: KnownClient): boolean {
  return is === 'ioredis cluster' || is === 'node-redis cluster'
}

function sharedLink(known: KnownClient, ready: () => void): SharedLink {
  return known.is === 'ioredis' || known.is === 'ioredis cluster'
    ? sharedIoredis(known.client, ready)
    : sharedNodeRedis(known.client, ready)
}

function ownServer(openLink: OpenLink, timeoutMs: number, events: RoutesEvents): Routes {
  return oneServer(
    openOwn(openLink, timeoutMs, {
      ready: () => readyOf(events),
      lost: (error) => events.report({ type: 'disconnected', ...(error && { error }) }),
    }),
  )
}

function readyOf(events: RoutesEvents): void {
  events.report({ type: 'connected' })
  events.ready()
}

function prefixOf({ is, client }: KnownClient): unknown {
  return is === 'node-redis cluster' ? optionsOf(client).keyPrefix : client.options?.keyPrefix
}

/** A brace before our own would be taken for the tag: all partitions would lie on one node. */
function expectNoTag(keyPrefix: unknown): void {
  if (keyPrefix !== undefined && String(keyPrefix).includes('{'))
    throw new TypeError(
      `Expected keyPrefix of the cluster to have no brace, by which a cluster finds the node of a key, got "${keyPrefix}"`,
    )
}
