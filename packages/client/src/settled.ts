/**
 * Set on an answer, or on the error of a call without one, that one client has done all it would for, so that a client
 * wrapped around it does not try again: the innermost decides. Under a name that all copies of this package share, with when
 * it was, in milliseconds of `performance.now()`.
 */
const mark: symbol = Symbol.for('ratepact.settled')
/** And by which client: any object that it has for itself. */
const marker: symbol = Symbol.for('ratepact.settled-by')

export function markSettled(ending: unknown, by: object, atMs: number = performance.now()): void {
  if (!isObject(ending)) return
  Reflect.defineProperty(ending, mark, { value: atMs, configurable: true })
  Reflect.defineProperty(ending, marker, { value: by, configurable: true })
}

/**
 * Whether another client settled it since then: one object may be the end of many calls, and a mark of before, or of one's
 * own, is that of another.
 */
export function isSettled(ending: unknown, by: object, sinceMs: number): boolean {
  return isObject(ending) && Reflect.get(ending, mark) >= sinceMs && Reflect.get(ending, marker) !== by
}

/** A copy is as settled as what it was made of. */
export function settleLike(copy: object, ending: object): void {
  const atMs: unknown = Reflect.get(ending, mark)
  if (typeof atMs === 'number') markSettled(copy, Reflect.get(ending, marker) as object, atMs)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
