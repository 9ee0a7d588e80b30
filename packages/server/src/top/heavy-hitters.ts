/** A key that came often: `count - error` times at least, `count` times at most. */
export interface Hitter {
  readonly key: string
  readonly count: number
  readonly error: number
}

/** Finds the keys that come most often, in a table that does not grow. */
export interface HeavyHitters {
  add(key: string): void
  /** What is known of a key. One that is not in the table came `most` times at most. */
  entries(): readonly Hitter[]
  /** How often a key may have come that is not in the table. */
  readonly most: number
}

/**
 * Space-Saving (Metwally, Agrawal, El Abbadi, 2005): a key that finds the table full takes the place of the one that came
 * least often, and its count as what it may have had before. After n keys nothing is overstated by more than n / size,
 * and each key that came more often than that is in the table.
 *
 * The table is sorted, the most frequent first. A count that grows by one changes places with the first of its equals,
 * which is found by halves: no lists to link.
 */
export function createHeavyHitters(size: number): HeavyHitters {
  const places = new Map<string, number>()
  const table: { key: string; count: number; error: number }[] = []

  function firstOf(count: number, before: number): number {
    let [low, high] = [0, before]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((table[middle]?.count ?? 0) > count) low = middle + 1
      else high = middle
    }
    return low
  }

  function grow(place: number): void {
    const entry = table[place]
    if (entry === undefined) return
    // Those that come most often have no equals.
    const hasEquals = place > 0 && table[place - 1]?.count === entry.count
    const first = hasEquals ? firstOf(entry.count, place) : place
    const equal = table[first]
    if (equal !== undefined && first !== place) {
      table[first] = entry
      table[place] = equal
      places.set(entry.key, first)
      places.set(equal.key, place)
    }
    entry.count += 1
  }

  function enter(key: string): number {
    const last = table[size - 1]
    if (last === undefined) {
      places.set(key, table.length)
      return table.push({ key, count: 0, error: 0 }) - 1
    }
    places.delete(last.key)
    places.set(key, size - 1)
    last.key = key
    last.error = last.count
    return size - 1
  }

  return {
    add: (key) => grow(places.get(key) ?? enter(key)),
    entries: () => table,
    get most() {
      return table[size - 1]?.count ?? 0
    },
  }
}
