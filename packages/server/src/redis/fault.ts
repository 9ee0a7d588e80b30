import type { FailureReason } from '../events.js'
import { show } from '../expect.js'
import { StoreError } from '../failure/store-error.js'

/** How Node and OpenSSL call what is wrong with a certificate. */
const CERTIFICATE = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/
const CERTIFICATE_REMEDY =
  'Give the client the certificate of who has signed that of Redis (tls.ca), and the name that it is made out to.'

/** Redis is there and cannot serve now; what it says so to, it has not run. */
const UNREADY = new Set([
  ...['LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'READONLY', 'OOM', 'BUSY', 'NOAUTH', 'NOREPLICAS', 'MISCONF'],
  ...['MOVED', 'ASK', 'TRYAGAIN', 'NOSCRIPT', 'MAXCLIENTS'],
])

/** What Redis will go on refusing until somebody changes something, and what that is. */
const REMEDIES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    NOPERM:
      'Give the user of the connection the commands and keys that the limiter needs; check() of it says which.',
    CROSSSLOT:
      'Count one kind of partition per limiter on a Cluster, or give redisStore the Cluster client itself.',
    WRONGPASS: 'Give the client the password that Redis has now.',
    UNKNOWN:
      'Use Redis 6.2 or newer, with none of the commands that the limiter needs renamed or taken away.',
  }),
)

/** Where Redis says in words what has no code, and which of the above it is. Tried in order. */
const WORDS: readonly (readonly [RegExp, code: string])[] = [
  [/^-?ERR (?:Error running script .*)?unknown (?:redis )?command/i, 'UNKNOWN'],
  [/^-?ERR .*(?:wrong number of arg|syntax error)/i, 'UNKNOWN'],
  [/ACL failure in script|user executing the script can't/i, 'NOPERM'],
  [/attempted to access (?:a non local key|keys that do not hash)|cluster support disabled/i, 'CROSSSLOT'],
]

/** An answer of Redis begins with its code; an error inside a script may carry it further on, after where it was. */
const CODE = /^(?:Ready check failed: ?)?-?(?:ERR Error running script .*?[ :]-?)?([A-Z]{3,})\b/

/** Errors of clients, by what they are called or say, and whether the command was kept back for certain. */
const OF_CLIENTS: readonly (readonly [RegExp, FailureReason, mayHaveRun: boolean])[] = [
  [/isn't writeable|client is (?:offline|closed)|ClientOffline|ClientClosed/i, 'disconnected', false],
  [/queue is full/i, 'overloaded', false],
  [/timed out|timeout/i, 'timeout', true],
  [
    /connection|socket|disconnect|max retries|startup nodes|slots cache|sentinels|redirections|aborted/i,
    'disconnected',
    true,
  ],
]

/** What a Redis client failed with, told apart: gone, not able to serve now, or set up wrongly. */
export function faultOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const { message, name, code: socketCode, certificateFault } = partsOf(error)
  if (socketCode !== undefined)
    return new StoreError('disconnected', `There is no connection to Redis: ${message}`, {
      cause: error,
      code: socketCode,
    })
  if (certificateFault !== undefined)
    return new StoreError('configuration', `Redis is not trusted: ${message}`, {
      cause: error,
      code: certificateFault,
      mayHaveRun: false,
      remedy: CERTIFICATE_REMEDY,
    })
  const code = codeIn(message)
  if (code !== undefined) return replied(code, message, error)
  for (const [words, reason, mayHaveRun] of OF_CLIENTS)
    if (words.test(`${name}: ${message}`))
      return new StoreError(reason, `The Redis client failed: ${message}`, { cause: error, mayHaveRun })
  return new StoreError('error', `The store failed: ${message}`, { cause: error })
}

function replied(code: string, message: string, cause: unknown): StoreError {
  // A script may have written before it met a command that it may not use.
  const mayHaveRun = !UNREADY.has(code) && /script/i.test(message)
  const remedy = REMEDIES.get(code)
  if (remedy !== undefined)
    return new StoreError('configuration', `Redis refuses to serve: ${message}`, {
      cause,
      code,
      mayHaveRun,
      remedy,
    })
  if (UNREADY.has(code))
    return new StoreError('unready', `Redis cannot serve now: ${message}`, { cause, code, mayHaveRun })
  return new StoreError('error', `Redis answered with an error: ${message}`, { cause, code })
}

/** The code of an answer, or the one that stands for its words; undefined when it is no answer of Redis. */
function codeIn(message: string): string | undefined {
  for (const [words, code] of WORDS) if (words.test(message)) return code
  if (/max number of clients/i.test(message)) return 'MAXCLIENTS'
  const [, code] = CODE.exec(message) ?? []
  return code
}

interface Parts {
  readonly message: string
  readonly name: string
  readonly code?: string
  readonly certificateFault?: string
}

function partsOf(error: unknown): Parts {
  if (!(error instanceof Error)) return { message: show(error), name: '' }
  const { message, name } = error
  const code = String((error as NodeJS.ErrnoException).code)
  const parts = { message: message || (code === 'undefined' ? name : code), name }
  if (CERTIFICATE.test(code)) return { ...parts, certificateFault: code }
  // ECONNREFUSED, ETIMEDOUT, EPIPE, …: how Node calls what happened to a socket.
  return /^E[A-Z_]{3,}$/.test(code) ? { ...parts, code } : parts
}
