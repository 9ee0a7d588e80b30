import { settleLike } from './settled.js'

/** An answer twice: a copy to hand on, and the original to be read. */
export interface Halves {
  readonly copy: Response
  readonly reader: ReadableStreamDefaultReader<Uint8Array>
}

/**
 * Undefined for what has no body, or one that cannot be read twice: that is left alone. The original is what is read: where
 * a copy is cancelled, Node fails the process once the rest is aborted.
 */
export function split(response: Response): Halves | undefined {
  const { body, bodyUsed } = response
  if (bodyUsed || typeof body?.getReader !== 'function' || body.locked) return undefined
  const copy = response.clone()
  settleLike(copy, response)
  const reader = response.body?.getReader()
  return reader && { copy, reader }
}
