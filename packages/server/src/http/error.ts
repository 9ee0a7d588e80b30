import { show } from '../expect.js'

/**
 * What was thrown, as something that a framework cannot take for anything but an error: handed to Express,
 * `undefined` would mean that the request may pass, and the text `route` too.
 */
export function errorOf(adapter: string, thrown: unknown): object {
  if (typeof thrown === 'object' && thrown !== null) return thrown
  return new Error(`A function given to ${adapter} threw ${show(thrown)}, which is not an Error`, {
    cause: thrown,
  })
}

/** What was thrown, for a sentence about it; never throws. */
export function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : show(thrown)
  } catch {
    return 'an object'
  }
}
