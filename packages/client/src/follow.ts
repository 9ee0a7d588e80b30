/** Removes the listener of a body that was dropped unread. */
export interface Leftovers {
  register(target: object, release: () => void): void
}

/** Without FinalizationRegistry nothing is registered: the listener then goes with its signal. */
export function leftovers(): Leftovers {
  if (typeof FinalizationRegistry === 'undefined') return { register: () => {} }
  return new FinalizationRegistry<() => void>((release) => release())
}

const readers = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const

/**
 * Lets the caller's signal stop the answer's body too, as fetch does, and lets go of the signal once the
 * body has been read by one of the methods of Response, or is no longer reachable.
 */
export function followBody(
  response: Response,
  signal: AbortSignal,
  controller: AbortController,
  dropped: Leftovers,
): void {
  if (response.body === null || response.body === undefined) return
  const abort = (): void => controller.abort(signal.reason)
  const release = (): void => signal.removeEventListener('abort', abort)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  // The body and not the answer: a reader of the stream may have let go of the answer.
  dropped.register(response.body, release)
  for (const name of readers) {
    const read: unknown = Reflect.get(response, name)
    if (typeof read !== 'function') continue
    const value = (): Promise<unknown> => {
      const reading = Reflect.apply(read, response, []) as Promise<unknown>
      reading.then(release, release)
      return reading
    }
    Object.defineProperty(response, name, { value, configurable: true, writable: true })
  }
}
