import type { NodeRedisClient, NodeRedisCommands } from './client.js'
import type { Link, OpenLink, SharedLink } from './link.js'
import { listen } from './listen.js'

/** How our own client differs from the user's; the reasons are those of ioredis. */
const OWN_OPTIONS = {
  disableOfflineQueue: true,
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  readonly: false,
  // Types as they come, no limit of time but ours, and nothing that only the newer protocol has.
  commandOptions: { timeout: undefined },
  RESP: 2,
  clientSideCache: undefined,
  emitInvalidate: false,
  maintNotifications: 'disabled',
  // A user with few rights would be refused it.
  disableClientInfo: true,
}
const OWN_SOCKET = { reconnectStrategy: false, connectTimeout: 2000, socketTimeout: undefined }

/** Links that are made like a user's client but for the options that a limiter cannot live with. */
export function ownNodeRedis(user: NodeRedisClient, socket: object = {}, overrides: object = {}): OpenLink {
  return (events) => {
    let running = false
    let lastError: Error | undefined
    let one = make()

    /** A client, and what ends a socket of its that is not connected yet: it does not know of that itself. */
    function make(): { readonly client: NodeRedisClient; readonly giveUp: AbortController } {
      const giveUp = new AbortController()
      const client: NodeRedisClient = user.duplicate({
        ...OWN_OPTIONS,
        // An address would be read once more, and take the place of the socket's options.
        url: undefined,
        socket: { ...user.options?.socket, ...OWN_SOCKET, ...socket, signal: giveUp.signal },
        ...overrides,
      })
      client.on('error', (error: Error) => {
        lastError = error
        end()
      })
      client.on('end', end)
      client.on('ready', () => {
        lastError = undefined
        events.ready()
      })
      // A connection that nobody waits for must not keep a process alive.
      client.unref()
      return { client, giveUp }
    }

    function end(): void {
      if (!running || one.client.isOpen) return
      running = false
      events.ended(lastError)
    }

    return {
      ...linkOf(() => one.client),
      command: (...words) => one.client.sendCommand([...words]),
      ready: () => one.client.isReady,
      connect() {
        running = true
        if (one.giveUp.signal.aborted) one = make()
        one.client.connect().catch((error: Error) => {
          lastError = error
          end()
        })
      },
      disconnect() {
        const connecting = !one.client.isReady
        // Version 5 throws when there is nothing to be closed.
        if (one.client.isOpen) one.client.destroy()
        if (connecting) one.giveUp.abort()
      },
    }
  }
}

/** The user's client or cluster; it is neither opened nor closed here. */
export function sharedNodeRedis(client: NodeRedisCommands, onReady: () => void): SharedLink {
  return {
    ...linkOf(() => client),
    command: () => Promise.reject(new Error('A shared client is asked for scripts only')),
    // A cluster of version 5 does not tell; its calls wait until it is.
    ready: () => client.isReady ?? client.isOpen,
    // A cluster says `connect` where a client says `ready`.
    leave: listen(client, ['ready', 'connect'], onReady),
  }
}

function linkOf(client: () => NodeRedisCommands): Omit<Link, 'ready' | 'command'> {
  return {
    evalsha: (sha, keys, args) => client().evalSha(sha, new Words(keys, args)),
    eval: (script, keys, args) => client().eval(script, new Words(keys, args)),
    // It writes what a turn has brought together by itself.
    cork: () => {},
    uncork: () => {},
  }
}

/** What a script is given. A class, since there is one for each call: see `listOf`. */
class Words {
  readonly keys: string[]
  readonly arguments: string[]

  constructor(keys: readonly string[], args: readonly string[]) {
    this.keys = keys.slice()
    this.arguments = args.slice()
  }
}
