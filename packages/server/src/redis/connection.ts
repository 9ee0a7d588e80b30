import type { StoreEvent } from '../store.js'
import type { RedisClient } from './client.js'

/** A way to Redis that comes back by itself when it is cut. */
export interface Connection {
  readonly client: RedisClient
  /** Whether a command written now goes out now. */
  ready(): boolean
  /** Gives the connection up for a new one, where it is ours. */
  replace(): void
  close(): void
}

export interface ConnectionEvents {
  ready(): void
  report(event: StoreEvent): void
}

const FIRST_RETRY_MS = 25
const LONGEST_RETRY_MS = 500
/** A connection that is not ready after this long is given up for another. */
const READY_WITHIN_MS = 3000

/**
 * How our own client differs from the user's. Queues, resends and retries inside the client would charge a call
 * twice or after its deadline; the client's own reconnecting is replaced because it keeps a process alive.
 */
const OWN_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  retryStrategy: (): null => null,
  reconnectOnError: null,
  connectTimeout: 2000,
  disconnectTimeout: 100,
  commandTimeout: undefined,
  socketTimeout: undefined,
  stringNumbers: false,
  readOnly: false,
  monitor: false,
}

/** A connection of our own, made like the user's client but for the options that a limiter cannot live with. */
export function openOwn(user: RedisClient, events: ConnectionEvents): Connection {
  const client = user.duplicate(OWN_OPTIONS)
  let closed = false
  let failures = 0
  let up = false
  let lastError: Error | undefined
  let retry: NodeJS.Timeout | undefined
  let patience: NodeJS.Timeout | undefined

  function open(): void {
    // A failed attempt ends in the event `end`, which is where the next one is planned.
    client.connect().catch(() => {})
    clearTimeout(patience)
    patience = setTimeout(() => {
      if (client.status !== 'ready') client.disconnect()
    }, READY_WITHIN_MS)
    patience.unref()
  }

  client.on('error', (error: Error) => {
    lastError = error
  })
  client.on('connect', () => unref(client))
  client.on('ready', () => {
    failures = 0
    up = true
    events.report({ type: 'connected' })
    events.ready()
  })
  client.on('end', () => {
    if (up) events.report({ type: 'disconnected', ...(lastError && { error: lastError }) })
    up = false
    if (closed) return
    const ms = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10))
    failures += 1
    // Half of it by chance, so that a fleet does not come back in one instant.
    retry = setTimeout(open, ms / 2 + (Math.random() * ms) / 2)
    retry.unref()
  })
  open()

  return {
    client,
    ready: () => client.status === 'ready',
    replace() {
      if (client.status === 'ready') client.disconnect()
    },
    close() {
      closed = true
      clearTimeout(retry)
      clearTimeout(patience)
      client.disconnect()
    },
  }
}

/** The user's own client, as it is; it is neither opened nor closed here. */
export function openShared(client: RedisClient, events: ConnectionEvents): Connection {
  const listener = () => events.ready()
  client.on('ready', listener)
  return {
    client,
    // One that connects lazily does so when it is first used.
    ready: () => client.status === 'ready' || client.status === 'wait',
    replace: () => {},
    close: () => {
      client.off('ready', listener)
    },
  }
}

/** A connection that nobody waits for must not keep a process alive; calls under way are kept by their deadline. */
function unref(client: RedisClient): void {
  const { stream } = client as { stream?: { unref?: () => void } }
  stream?.unref?.()
}
