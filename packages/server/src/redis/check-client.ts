import type { Finding } from '../store.js'
import type { KnownClient } from './client.js'

type Options = Readonly<Record<string, unknown>>

/** What a user's own client does that a limiter must not, where it is used as it is. */
interface Risk {
  readonly code: string
  readonly severity: Finding['severity']
  readonly is: (options: Options) => boolean
  readonly problem: string
  readonly remedy: string
}

const OR_OWN = "or leave connection at 'own', which does so on a connection of its own."

const OF_IOREDIS: readonly Risk[] = [
  {
    code: 'offline-queue',
    severity: 'warning',
    is: ({ enableOfflineQueue }) => enableOfflineQueue !== false,
    problem:
      'enableOfflineQueue of the shared client is on: calls made while Redis is away are charged later, after their callers have been answered without it',
    remedy: `Set enableOfflineQueue: false, ${OR_OWN}`,
  },
  {
    code: 'resend',
    severity: 'warning',
    is: ({ autoResendUnfulfilledCommands }) => autoResendUnfulfilledCommands !== false,
    problem:
      'autoResendUnfulfilledCommands of the shared client is on: a call whose answer was lost is sent again and charged twice',
    remedy: `Set autoResendUnfulfilledCommands: false, ${OR_OWN}`,
  },
  {
    code: 'retries',
    severity: 'warning',
    is: ({ maxRetriesPerRequest }) => maxRetriesPerRequest !== 0,
    problem:
      'maxRetriesPerRequest of the shared client is not 0: calls are kept over reconnections, long after their callers have been answered',
    remedy: `Set maxRetriesPerRequest: 0, ${OR_OWN}`,
  },
  {
    code: 'auto-pipelining',
    severity: 'warning',
    is: ({ enableAutoPipelining }) => enableAutoPipelining === true,
    problem:
      'enableAutoPipelining of the shared client is on: calls are gathered already, and this makes them slower',
    remedy: `Set enableAutoPipelining: false, ${OR_OWN}`,
  },
  {
    code: 'no-reconnect',
    severity: 'error',
    is: ({ retryStrategy }) => retryStrategy === null,
    problem:
      'retryStrategy of the shared client is null: once it is disconnected it stays so, and so does the limiter',
    remedy: `Give it a retryStrategy, ${OR_OWN}`,
  },
]

const OF_NODE_REDIS: readonly Risk[] = [
  {
    code: 'offline-queue',
    severity: 'warning',
    is: ({ disableOfflineQueue }) => disableOfflineQueue !== true,
    problem:
      'disableOfflineQueue of the shared client is not set: calls made while Redis is away are charged later, after their callers have been answered without it',
    remedy: `Set disableOfflineQueue: true, ${OR_OWN}`,
  },
  {
    code: 'unbounded-queue',
    severity: 'warning',
    is: ({ commandsQueueMaxLength }) => commandsQueueMaxLength === undefined,
    problem:
      'commandsQueueMaxLength of the shared client is not set: while Redis does not answer its queue only grows',
    remedy: `Set commandsQueueMaxLength, ${OR_OWN}`,
  },
  {
    code: 'no-reconnect',
    severity: 'error',
    is: ({ socket }) => optionsIn(socket).reconnectStrategy === false,
    problem:
      'reconnectStrategy of the shared client is false: once it is disconnected it stays so, and so does the limiter',
    remedy: `Give it a reconnectStrategy, ${OR_OWN}`,
  },
]

/** What can be seen of a client without asking Redis. */
export function checkClient(known: KnownClient, connection: 'own' | 'shared'): readonly Finding[] {
  const given = optionsIn((known.client as { options?: unknown }).options)
  const options = { ...given, ...optionsIn(given.redisOptions), ...optionsIn(given.defaults) }
  const risks = known.is.startsWith('ioredis') ? OF_IOREDIS : OF_NODE_REDIS
  const findings: Finding[] = []
  if (connection === 'shared') for (const { is, ...finding } of risks) if (is(options)) findings.push(finding)
  if (typeof options.keyPrefix === 'string' && options.keyPrefix.includes('{'))
    findings.push({
      code: 'key-prefix',
      severity: 'error',
      problem: `keyPrefix of the client has a brace in it: on a Cluster all keys then lie where it says, or none can be used together`,
      remedy:
        'Take the brace out of keyPrefix, or give redisStore a client without one and use its option prefix.',
    })
  if (readsReplicas(options, connection))
    findings.push({
      code: 'replica',
      severity: 'error',
      problem: 'The client is set to read from replicas, where no call can be charged',
      remedy: "Give redisStore a client of the master: without role: 'slave', scaleReads or readOnly.",
    })
  return findings
}

function readsReplicas({ role, readOnly, readonly, scaleReads }: Options, connection: string): boolean {
  if (role === 'slave') return true
  if (connection === 'own') return false
  return readOnly === true || readonly === true || (scaleReads !== undefined && scaleReads !== 'master')
}

function optionsIn(value: unknown): Options {
  return typeof value === 'object' && value !== null ? (value as Options) : {}
}
