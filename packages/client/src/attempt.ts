import type { Clock } from '@ratepact/contract'
import { cancelBody } from './cancel.js'
import type { StopSignal } from './stop-signal.js'

/** What may end an attempt before its answer. */
export interface AttemptLimits {
  readonly clock: Clock
  readonly signal?: StopSignal | undefined
  /** Milliseconds until the head of the answer must be there; infinite = no such limit. */
  readonly timeoutMs: number
  /** What the attempt ends with when the time is over. */
  readonly timeoutReason: () => unknown
}

/** An answer, and the means to stop its body. */
export interface Attempted {
  readonly response: Response
  readonly controller: AbortController | undefined
}

/**
 * Sends once. The caller's signal is not handed on: the platform would leave a listener on it. Each
 * attempt has a controller of its own, and rejects with the signal's reason even if `send` ignores it.
 */
export async function attempt(
  send: (signal: AbortSignal) => Promise<Response>,
  limits: AttemptLimits,
): Promise<Attempted> {
  const { signal } = limits
  if (signal?.aborted) throw signal.reason
  const controller = new AbortController()
  const watch = watchFor(limits, controller)
  try {
    // Within the promise, since what throws may have aborted before.
    const sent = new Promise<Response>((resolve) => resolve(send(controller.signal)))
    // Whoever aborts gets an answer at once; a response that comes all the same is not left open.
    const discard = (response: Response): void => {
      if (controller.signal.aborted) cancelBody(response?.body)
    }
    sent.then(discard, () => {})
    return { response: await Promise.race([watch.stopped, sent]), controller }
  } finally {
    watch.end()
  }
}

interface Watch {
  /** Rejects when the attempt has to stop. */
  readonly stopped: Promise<never>
  end(): void
}

function watchFor(
  { clock, signal, timeoutMs, timeoutReason }: AttemptLimits,
  controller: AbortController,
): Watch {
  const ends: (() => void)[] = []
  const stopped = new Promise<never>((_, reject) => {
    const stop = (reason: unknown): void => {
      // First, since a fetch may reject in its own words as soon as it is aborted.
      reject(reason)
      controller.abort(reason)
    }
    if (signal !== undefined) ends.push(signal.listen(() => stop(signal.reason)))
    if (timeoutMs < Number.POSITIVE_INFINITY) {
      const timer = clock.setTimeout(() => stop(timeoutReason()), Math.max(0, timeoutMs))
      ends.push(() => clock.clearTimeout(timer))
    }
  })
  const end = (): void => {
    for (const each of ends) each()
  }
  return { stopped, end }
}
