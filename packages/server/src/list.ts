/**
 * A list of what it is given, for what is made with each call.
 *
 * V8 watches what every literal, `{…}` or `[…]`, and every `new Array` makes, and where most of it outlives a collection
 * of young objects, as all does that a burst of calls has in flight, has that place make old ones from then on. These are
 * not collected with the young, and keep alive whatever they refer to: a busy server then spends a third more on each
 * request. What a class, a rest parameter, `map`, `slice` or `filter` makes it does not watch. So along the path of a call
 * there are no literals; `bench/sites.js` counts those that are left.
 */
export function listOf<T extends unknown[]>(...items: T): T {
  return items
}

/** A list as long as another, to be filled. For fewer things than `map` makes, whose function is made anew each time too. */
export function asLongAs<T>(other: readonly unknown[]): T[] {
  return other.slice() as T[]
}

/** A list of nothing, for what has none. */
export const NONE: readonly never[] = Object.freeze([])
