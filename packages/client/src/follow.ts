import type { StopSignal } from './stop-signal.js'

/** Lets go of what belongs to bodies that were dropped unread. */
export interface Leftovers {
  register(body: object, release: () => void): void
}

/** Without FinalizationRegistry nothing is registered: a listener then goes with its signal. */
export function leftovers(): Leftovers {
  if (typeof FinalizationRegistry === 'undefined') return { register: () => {} }
  return new FinalizationRegistry<() => void>((release) => release())
}

export const readers = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const

/**
 * Lets the caller's signal stop the answer's body too, as fetch does, and lets go of the signal once the
 * body has been read by one of the methods of Response, or is no longer reachable.
 */
export function followBody(
  response: Response,
  signal: StopSignal,
  controller: AbortController,
  dropped: Leftovers,
): void {
  if (response.body === null || response.body === undefined) return
  const release = passOn(signal, controller)
  // The body and not the answer: a reader of the stream may have let go of the answer.
  dropped.register(response.body, release)
  for (const name of readers) watchReader(response, name, release)
}

/** Apart from the rest, because functions made in one place keep alive whatever any of them uses. */
function passOn(signal: StopSignal, controller: AbortController): () => void {
  if (signal.aborted) controller.abort(signal.reason)
  return signal.listen(() => controller.abort(signal.reason))
}

function watchReader(response: Response, name: string, release: () => void): void {
  const read: unknown = Reflect.get(response, name)
  if (typeof read !== 'function') return
  const value = (): Promise<unknown> => {
    const reading = Reflect.apply(read, response, []) as Promise<unknown>
    reading.then(release, release)
    return reading
  }
  Object.defineProperty(response, name, { value, configurable: true, writable: true })
}
