import type { Link, OpenLink, SharedLink } from './link.js'

/** A way to one server that comes back by itself when it is cut. */
export interface Connection {
  readonly link: Link
  /** Whether a command written now goes out now, and there is hope for an answer. */
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
/** A connection that is not ready after this long is given up for another. */
const READY_WITHIN_MS = 3000
/** One on which nothing has come back for so long is replaced. */
const SILENT_MS = 2000

/** A connection of our own, kept open until it is closed. */
export function openOwn(openLink: OpenLink, events: ConnectionEvents): Connection {
  let closed = false
  let failures = 0
  let up = false
  let trouble: Error | undefined
  let retry: NodeJS.Timeout | undefined
  let patience: NodeJS.Timeout | undefined
  const unanswered = createUnanswered()

  const link = openLink({
    ready() {
      failures = 0
      up = true
      trouble = undefined
      clearTimeout(patience)
      events.ready()
    },
    ended(error) {
      clearTimeout(patience)
      unanswered.clear()
      const wasUp = up
      trouble = error
      up = false
      if (closed) return
      if (wasUp) events.lost(error)
      else events.failed?.()
      const ms = Math.min(
        link.longestRetryMs ?? LONGEST_RETRY_MS,
        FIRST_RETRY_MS * 2 ** Math.min(failures, 10),
      )
      failures += 1
      // Half of it by chance, so that a fleet does not come back in one instant.
      retry = setTimeout(open, ms / 2 + (Math.random() * ms) / 2)
      retry.unref()
    },
  })

  function open(): void {
    link.connect()
    patience = setTimeout(() => {
      if (!link.ready()) link.disconnect()
    }, READY_WITHIN_MS)
    patience.unref()
  }

  function replace(): void {
    if (link.ready()) link.disconnect()
  }

  open()
  return {
    link,
    ready() {
      if (!link.ready()) return false
      if (!unanswered.areOld()) return true
      replace()
      return false
    },
    sent: unanswered.add,
    trouble: () => trouble,
    replace,
    close() {
      closed = true
      clearTimeout(retry)
      clearTimeout(patience)
      link.disconnect()
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

interface Unanswered {
  readonly atMs: number
}

/** Calls that have not been answered, oldest first. */
function createUnanswered() {
  const calls = new Set<Unanswered>()
  /** The oldest call, once it has been found old and the sockets have been read after that. */
  let looked: Unanswered | undefined
  return {
    add(): () => unknown {
      const call = { atMs: performance.now() }
      calls.add(call)
      return () => calls.delete(call)
    },
    /** A process that stood still has read no answers; it looks for them before it complains of silence. */
    areOld(): boolean {
      const [oldest] = calls
      if (oldest === undefined || performance.now() - oldest.atMs < SILENT_MS) return false
      if (looked === oldest) return true
      setImmediate(() => setImmediate(() => (looked = oldest)).unref()).unref()
      return false
    },
    clear: () => calls.clear(),
  }
}
