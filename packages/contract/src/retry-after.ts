import type { FieldValue } from './structured-field.js'

export interface RetryAfterContext {
  /** The instant to count from when the answer has no usable `Date`. @default the current time */
  now?: Date
  /** The answer's own `Date` field: counting from it cancels the difference between the two clocks. */
  date?: string
}

export function parseRetryAfter(value: FieldValue, context: RetryAfterContext = {}): number | undefined {
  throw new Error(`not built yet: ${value} ${context}`)
}

export function parseRetryAfterMs(value: FieldValue): number | undefined {
  throw new Error(`not built yet: ${value}`)
}

export function parseHttpDate(text: string, now: Date = new Date()): number | undefined {
  throw new Error(`not built yet: ${text} ${now}`)
}
