import type { Clock } from '@ratepact/contract'
import { cancelBody } from './cancel.js'
import { never } from './pace/quota.js'
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
  send: (controller: AbortController) => Promise<Attempted>,
  { clock, signal, timeoutMs, timeoutReason }: AttemptLimits,
): Promise<Attempted> {
  if (signal?.aborted) throw signal.reason
  const controller = new AbortController()
  let release: (() => void) | undefined
  let timer: unknown
  const timed = timeoutMs < never
  const ended = new Promise<Attempted>((resolve, reject) => {
    const stop = (reason: unknown): void => {
      // First, since a fetch may reject in its own words as soon as it is aborted.
      reject(reason)
      controller.abort(reason)
    }
    release = signal?.listen(() => stop(signal.reason))
    if (timed) timer = clock.setTimeout(() => stop(timeoutReason()), Math.max(0, timeoutMs))
    send(controller).then((answer) => {
      // Whoever aborts gets an answer at once; a response that comes all the same is not left open.
      if (controller.signal.aborted) cancelBody(answer.response.body)
      resolve(answer)
    }, reject)
  })
  try {
    return await ended
  } finally {
    release?.()
    if (timed) clock.clearTimeout(timer)
  }
}
