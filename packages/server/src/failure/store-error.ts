import type { FailureReason } from '../events.js'
import { show } from '../expect.js'

/** The store could not be asked: it did not answer in time, is not connected, or answered with an error. */
export class StoreError extends Error {
  override readonly name = 'StoreError' as const
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Any rejection of a store, as a StoreError. */
export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const message = error instanceof Error ? error.message : show(error)
  return new StoreError('error', `The store failed: ${message}`, { cause: error })
}
