import type { StoreEvent } from '../store.js'
import type { KnownClient } from './client.js'
import { openOwn, openShared } from './connection.js'
import { ownIoredis, sharedIoredis } from './ioredis.js'
import { ownNodeRedis, sharedNodeRedis } from './node-redis.js'
import { oneServer, type Routes } from './routes.js'

export interface RoutesEvents {
  /** There is a connection (again). */
  ready(): void
  report(event: StoreEvent): void
}

/** The routes that a client of the user's gives: through connections of our own, or through the client itself. */
export function openRoutes(known: KnownClient, connection: 'own' | 'shared', events: RoutesEvents): Routes {
  const ready = () => {
    events.report({ type: 'connected' })
    events.ready()
  }
  if (connection === 'shared')
    return oneServer(
      openShared(
        known.is === 'ioredis' || known.is === 'ioredis cluster'
          ? sharedIoredis(known.client, ready)
          : sharedNodeRedis(known.client, ready),
      ),
    )
  const openLink = known.is === 'ioredis' ? ownIoredis(known.client) : ownNodeRedis(known.client as never)
  return oneServer(
    openOwn(openLink, {
      ready,
      lost: (error) => events.report({ type: 'disconnected', ...(error && { error }) }),
    }),
  )
}
