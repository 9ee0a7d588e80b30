import type { Clock } from '@ratepact/contract'

/** Frames of a server that is handling a request, in the frameworks that there are adapters for and in Node. */
const HANDLING = new RegExp(
  [
    'parserOnIncoming',
    'onServerStream',
    'Layer\\.handle',
    'preHandlerCallback',
    'hookRunner\\b',
    'koa-compose[\\\\/]',
    'router-execution-context',
    '[\\\\/]hono[\\\\/]dist[\\\\/](cjs[\\\\/])?compose',
  ].join('|'),
)
const FRAMES = 100

/** So many that a request makes: what is put off until it is first needed is made then too, once for each route. */
const MOST_HANDLING = 5
/** So many of which each came when a request had been asked about since the last: more than tests make, each its own app. */
const MOST_LATE = 500
const MINUTE_MS = 60_000

/** What is made within a minute by one clock. */
interface Makings {
  readonly sinceMs: number
  handling: number
  late: number
  told: boolean
}

const MAKINGS = new WeakMap<Clock, Makings>()
let asked = false

/** Notes that a request is asked about: what is made after that is made late. */
export function noteAsked(): void {
  asked = true
}

/**
 * Notes that an adapter is made.
 * @returns whether that looks like one for each request, once a minute. Where the platform tells who has called, a few of
 * these are enough; after an `await` none does, and only how many there are tells.
 */
export function isMadeAnew(clock: Clock): boolean {
  const nowMs = clock.now()
  let makings = MAKINGS.get(clock)
  if (makings === undefined || nowMs - makings.sinceMs >= MINUTE_MS) {
    makings = { sinceMs: nowMs, handling: 0, late: 0, told: false }
    MAKINGS.set(clock, makings)
  }
  if (isHandling()) makings.handling += 1
  else if (asked) makings.late += 1
  asked = false
  if (makings.told || (makings.handling < MOST_HANDLING && makings.late < MOST_LATE)) return false
  makings.told = true
  return true
}

/** Whether what runs now was called by a server that is handling a request; false where the platform does not tell. */
function isHandling(): boolean {
  const error = Error as { stackTraceLimit?: number }
  const limit = error.stackTraceLimit
  if (limit === undefined) return false
  error.stackTraceLimit = FRAMES
  const { stack = '' } = new Error('where')
  error.stackTraceLimit = limit
  return HANDLING.test(stack)
}
