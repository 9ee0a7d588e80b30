import type { FailureReason } from '../events.js'
import { show } from '../expect.js'

/** What is known of a failure besides its reason. */
export interface StoreErrorOptions extends ErrorOptions {
  /** The word by which the store or the socket tells the fault, such as `READONLY` or `ECONNREFUSED`. */
  readonly code?: string
  /** Whether what was asked may have been carried out all the same. @default true */
  readonly mayHaveRun?: boolean
  /** What to do about it. Of faults of configuration. */
  readonly remedy?: string
}

/** The store could not be asked: it did not answer in time, is not connected, or answered with an error. */
export class StoreError extends Error {
  override readonly name = 'StoreError' as const
  readonly reason: FailureReason
  /** The word by which the store or the socket tells the fault, such as `READONLY` or `ECONNREFUSED`. */
  declare readonly code?: string
  /** False where it is certain that nothing of what was asked has been carried out. */
  readonly mayHaveRun: boolean
  /** What to do about it. Of faults of configuration. */
  declare readonly remedy?: string

  constructor(reason: FailureReason, message: string, options: StoreErrorOptions = {}) {
    super(message, options)
    this.reason = reason
    this.mayHaveRun = options.mayHaveRun ?? true
    if (options.code !== undefined) this.code = options.code
    if (options.remedy !== undefined) this.remedy = options.remedy
  }
}

/** Any rejection of a store, as a StoreError. */
export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const message = error instanceof Error ? error.message : show(error)
  return new StoreError('error', `The store failed: ${message}`, { cause: error })
}

/** The same failure of something that certainly has not been begun. */
export function neverRun({ reason, message, code, remedy, cause }: StoreError): StoreError {
  const told = { ...(code !== undefined && { code }), ...(remedy !== undefined && { remedy }) }
  return new StoreError(reason, message, { cause, mayHaveRun: false, ...told })
}
