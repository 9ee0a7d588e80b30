import type { Link, OpenLink, SharedLink } from './link.js'

/** A way to one server that comes back by itself when it is cut. */
export interface Connection {
  readonly link: Link
  /** Whether a command written now goes out now. */
  ready(): boolean
  /** Notes that a call is on its way; what it returns is to be called with its answer, whatever that is. */
  sent(): () => unknown
  /** What the last attempt to connect failed with, while there is no connection. */
  trouble(): Error | undefined
  /** Gives the connection up for a new one, where it is ours. */
  replace(): void
  close(): void
}

export interface ConnectionEvents {
  ready(): void
  /** It was connected and is not any more. */
  lost(error: Error | undefined): void
  /** It could not be connected. */
  failed?(): void
}

const FIRST_RETRY_MS = 25
const LONGEST_RETRY_MS = 500
/** An attempt that is not ready after this long is given up for another: it may have been accepted by nobody. */
const READY_WITHIN_MS = 800
/** It takes a few trips, of which each may take as long as a call; but nobody waits for a connection so long. */
const TRIPS = 4
const READY_AT_LAST_MS = 3000
/** Time is counted in ticks, of which a process that stands still has fewer. */
const TICK_MS = 100
/** One that was lost sooner than this after it was made was of no use, and is not made again at once. */
const LASTING_MS = 1000
/** A connection on which nothing has come back for so long, or for as long as a call may take, is replaced. */
const SILENT_MS = 1000

/**
 * A connection of our own, kept open until it is closed.
 * @param timeoutMs how long a call may take
 */
export function openOwn(openLink: OpenLink, timeoutMs: number, events: ConnectionEvents): Connection {
  let closed = false
  let failures = 0
  let up = false
  let leaving = false
  let trouble: Error | undefined
  let givenUp: Error | undefined
  let begunMs = 0
  let upMs = 0
  let retry: NodeJS.Timeout | undefined
  let patience: NodeJS.Timeout | undefined
  const unanswered = createUnanswered(Math.max(SILENT_MS, timeoutMs), replace)

  const link = openLink({
    ready() {
      up = true
      upMs = performance.now()
      trouble = undefined
      clearInterval(patience)
      events.ready()
    },
    ended(error) {
      clearInterval(patience)
      unanswered.clear()
      leaving = false
      const wasUp = up
      trouble = givenUp ?? error
      up = false
      if (closed) return
      if (wasUp) events.lost(error)
      else events.failed?.()
      const now = performance.now()
      if (wasUp && now - upMs >= LASTING_MS) failures = 0
      const ms = Math.min(
        link.longestRetryMs ?? LONGEST_RETRY_MS,
        FIRST_RETRY_MS * 2 ** Math.min(failures, 10),
      )
      // Half of it by chance, so that a fleet does not come back in one instant. What has taken long is not waited for again.
      const pauseMs = ms / 2 + (Math.random() * ms) / 2 - (wasUp ? 0 : now - begunMs)
      failures += 1
      retry = setTimeout(open, Math.max(FIRST_RETRY_MS, pauseMs, link.restMs?.() ?? 0))
      retry.unref()
    },
  })
  const tripsMs = Math.min(READY_AT_LAST_MS, TRIPS * timeoutMs)
  const mostTicks = Math.ceil(Math.max(link.readyWithinMs ?? READY_WITHIN_MS, tripsMs) / TICK_MS)

  function open(): void {
    begunMs = performance.now()
    givenUp = undefined
    link.connect()
    let ticks = 0
    patience = setInterval(() => {
      ticks += 1
      if (ticks < mostTicks) return
      clearInterval(patience)
      if (link.ready()) return
      givenUp = new Error(`The connection to Redis was not made within ${mostTicks * TICK_MS} ms`)
      link.disconnect()
    }, TICK_MS)
    patience.unref()
  }

  /** Once: one that is asked to end, and whose server says nothing to that, is of no use meanwhile. */
  function replace(): void {
    if (!isReady()) return
    leaving = true
    link.disconnect()
  }

  function isReady(): boolean {
    return !leaving && link.ready()
  }

  open()
  return {
    link,
    ready: isReady,
    sent: unanswered.add,
    trouble: () => trouble,
    replace,
    close() {
      closed = true
      clearTimeout(retry)
      clearInterval(patience)
      link.disconnect()
      unanswered.clear()
    },
  }
}

/** The user's own client, as it is. */
export function openShared(link: SharedLink): Connection {
  return {
    link,
    ready: () => link.ready(),
    sent: () => () => {},
    trouble: () => undefined,
    replace: () => {},
    close: () => link.leave(),
  }
}

/** A class, since there is one for each call: see `listOf`. */
class Unanswered {
  readonly atMs = performance.now()
}

/** Calls that have not been answered, oldest first; tells when the oldest has waited for too long. */
function createUnanswered(mostMs: number, silent: () => void) {
  const calls = new Set<Unanswered>()
  let timer: NodeJS.Timeout | undefined

  function watch(): void {
    const [oldest] = calls
    if (oldest === undefined) return
    timer = setTimeout(look, Math.max(0, oldest.atMs + mostMs - performance.now()))
    timer.unref()
  }

  /** A process that stood still has read no answers; it looks for them before it complains of silence. */
  function look(): void {
    setImmediate(() => setImmediate(judge).unref()).unref()
  }

  function judge(): void {
    timer = undefined
    const [oldest] = calls
    if (oldest === undefined) return
    if (performance.now() - oldest.atMs < mostMs) watch()
    else silent()
  }

  return {
    add(): () => unknown {
      const call = new Unanswered()
      calls.add(call)
      if (timer === undefined) watch()
      return () => calls.delete(call)
    },
    clear() {
      calls.clear()
      clearTimeout(timer)
      timer = undefined
    },
  }
}
