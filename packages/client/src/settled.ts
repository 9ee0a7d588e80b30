/**
 * Set on an answer, or on the error of a call without one, that one client has done all it would for, so that a client
 * wrapped around it does not try again: the innermost decides. Under a name that all copies of this package share.
 */
const mark: symbol = Symbol.for('ratepact.settled')

export function markSettled(ending: unknown): void {
  if (isObject(ending)) Reflect.defineProperty(ending, mark, { value: true })
}

export function isSettled(ending: unknown): boolean {
  return isObject(ending) && Reflect.get(ending, mark) === true
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
