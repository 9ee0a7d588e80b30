/** As the promise, but rejects with the signal's reason when that comes first; `late` gets what comes after it. */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise
      .then((value) => (signal.aborted ? late(value) : resolve(value)), reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}
