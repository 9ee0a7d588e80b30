/** That one client has done all that it would for a call: when, in milliseconds of `performance.now()`, and which one. */
interface Mark {
  readonly atMs: number
  readonly by: object
}

const name: symbol = Symbol.for('ratepact.settled')

/**
 * The marks of answers, and of the errors of calls without one, so that a client wrapped around another does not try
 * again: the innermost decides. All copies of this package share them, and nothing of them is to be seen on what they mark:
 * undici's headers are an object of the caller's, and some platforms make no `Headers` of one that has symbols.
 */
function marks(): WeakMap<object, Mark> {
  const known: unknown = Reflect.get(globalThis, name)
  if (known instanceof WeakMap) return known
  const made = new WeakMap<object, Mark>()
  Reflect.defineProperty(globalThis, name, { value: made })
  return made
}

/** @param by any object that a client has for itself */
export function markSettled(ending: unknown, by: object): void {
  if (isObject(ending)) marks().set(ending, { atMs: performance.now(), by })
}

/**
 * Whether another client settled it since then: one object may be the end of many calls, and a mark of before, or of one's
 * own, is that of another.
 */
export function isSettled(ending: unknown, by: object, sinceMs: number): boolean {
  const mark = isObject(ending) ? marks().get(ending) : undefined
  return mark !== undefined && mark.atMs >= sinceMs && mark.by !== by
}

/** A copy is as settled as what it was made of. */
export function settleLike(copy: object, ending: object): void {
  const mark = marks().get(ending)
  if (mark !== undefined) marks().set(copy, mark)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
