/**
 * Set on an answer, or on the error of a call without one, that one client has done all it would for, so that a client
 * wrapped around it does not try again: the innermost decides. Under a name that all copies of this package share, with when
 * it was, in milliseconds of `performance.now()`.
 */
const mark: symbol = Symbol.for('ratepact.settled')

export function markSettled(ending: unknown, atMs: number = performance.now()): void {
  if (isObject(ending)) Reflect.defineProperty(ending, mark, { value: atMs, configurable: true })
}

/** Whether it was settled since then: one object may be the end of many calls, and a mark of before is that of another. */
export function isSettled(ending: unknown, sinceMs: number): boolean {
  return isObject(ending) && Reflect.get(ending, mark) >= sinceMs
}

/** A copy is as settled as what it was made of. */
export function settleLike(copy: object, ending: object): void {
  const atMs: unknown = Reflect.get(ending, mark)
  if (typeof atMs === 'number') markSettled(copy, atMs)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
