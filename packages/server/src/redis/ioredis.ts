import type { IoredisClient, IoredisCommands } from './client.js'
import type { Link, OpenLink, SharedLink } from './link.js'
import { listen } from './listen.js'
import { hearErrors, hearErrorsOfNodes, streamOf } from './stream.js'

/** Time for a Sentinel to answer, connecting included: it may be far away, or have fallen silent. */
const SENTINEL_ANSWER_MS = 1000
/**
 * For a while after an attempt in vain the client keeps sockets and timers of Sentinels that did not answer, and with
 * them the process. So while there is none the pauses between attempts are longer than that.
 */
const NO_SENTINEL_REST_MS = 2500
const NO_SENTINEL = /^All sentinels are unreachable.* Last error/
/** The client asks its list of Sentinels to the end, where it gives up once in vain: every other attempt may be such a one. */
const SENTINEL_RETRY_MS = 250

/**
 * How our own client differs from the user's. Queues, resends and retries inside the client would charge a call
 * twice or after its deadline; the client's own reconnecting, also to Sentinels, is replaced because it keeps a
 * process alive.
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
  sentinelRetryStrategy: (): null => null,
  sentinelCommandTimeout: SENTINEL_ANSWER_MS,
  failoverDetector: false,
  connectTimeout: 2000,
  disconnectTimeout: 100,
  commandTimeout: undefined,
  socketTimeout: undefined,
  stringNumbers: false,
  readOnly: false,
  monitor: false,
  // A user with few rights would be refused it.
  disableClientInfo: true,
}

/** Links that are made like a user's client but for the options that a limiter cannot live with. */
export function ownIoredis(user: IoredisClient, overrides: object = {}): OpenLink {
  return (events) => {
    const client = user.duplicate({ ...OWN_OPTIONS, ...overrides })
    let lastError: Error | undefined
    client.on('error', (error: Error) => {
      lastError = error
    })
    hearErrors(client)
    // A connection that nobody waits for must not keep a process alive; calls under way are kept by their deadline.
    client.on('connect', () => streamOf(client)?.unref?.())
    client.on('ready', () => {
      lastError = undefined
      events.ready()
    })
    client.on('end', () => events.ended(lastError))
    return {
      ...linkOf(client),
      ...(client.options?.sentinels && {
        // They are asked one after another, and then the master is connected to.
        readyWithinMs: (client.options.sentinels.length + 2) * SENTINEL_ANSWER_MS,
        longestRetryMs: SENTINEL_RETRY_MS,
        restMs: () => (NO_SENTINEL.test(lastError?.message ?? '') ? NO_SENTINEL_REST_MS : 0),
      }),
      ready: () => client.status === 'ready',
      // A failed attempt ends in the event `end`.
      connect: () => void client.connect().catch(() => {}),
      disconnect: () => client.disconnect(),
    }
  }
}

/** The user's client or cluster; it is neither opened nor closed here. */
export function sharedIoredis(client: IoredisCommands, onReady: () => void): SharedLink {
  hearErrors(client)
  hearErrorsOfNodes(client)
  return {
    ...linkOf(client),
    // One that connects lazily does so when it is first used.
    ready: () => client.status === 'ready' || client.status === 'wait',
    leave: listen(client, ['ready'], onReady),
  }
}

function linkOf(client: IoredisCommands): Omit<Link, 'ready'> {
  return {
    // Spread at the end of the arguments and nowhere else, or a list of them is made by a literal first: see `listOf`.
    evalsha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys.concat(args)),
    eval: (script, keys, args) => client.eval(script, keys.length, ...keys.concat(args)),
    command: (name = '', ...words) => client.call(name, ...words),
    cork: () => streamOf(client)?.cork?.(),
    uncork: () => streamOf(client)?.uncork?.(),
  }
}
