/** A map that forgets what is worth the least. */
export interface BoundedMap<V> {
  readonly size: number
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): boolean
  entries(): IterableIterator<readonly [string, V]>
  /** Takes out one of all, by chance. */
  takeAny(): V | undefined
}

/** What a map does when it is full. */
export interface Forgetting<V> {
  readonly worthOf: (value: V) => number
  readonly forgotten?: (value: V) => void
}

const SAMPLES = 16

/**
 * When it is full, of 16 taken by chance the one that is worth the least goes for each that comes; so a flood of new
 * names pushes out its own before what matters.
 */
export function createBoundedMap<V>(most: number, { worthOf, forgotten }: Forgetting<V>): BoundedMap<V> {
  const places = new Map<string, number>()
  /** All in one row without gaps, to be taken from by chance. */
  const row: { readonly key: string; value: V }[] = []

  const anywhere = () => Math.floor(Math.random() * row.length)

  /** Takes an entry out; the last one moves to its place. */
  function remove(place: number): V | undefined {
    const entry = row[place]
    const last = row.pop()
    if (entry === undefined || last === undefined) return undefined
    places.delete(entry.key)
    if (last !== entry) {
      row[place] = last
      places.set(last.key, place)
    }
    return entry.value
  }

  function makeRoom(): void {
    let least = anywhere()
    let leastWorth = Number.POSITIVE_INFINITY
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const place = anywhere()
      const entry = row[place]
      const worth = entry === undefined ? Number.POSITIVE_INFINITY : worthOf(entry.value)
      if (worth < leastWorth) [least, leastWorth] = [place, worth]
    }
    const value = remove(least)
    if (value !== undefined) forgotten?.(value)
  }

  return {
    get size() {
      return row.length
    },
    get(key) {
      const place = places.get(key)
      return place === undefined ? undefined : row[place]?.value
    },
    set(key, value) {
      const place = places.get(key)
      const entry = place === undefined ? undefined : row[place]
      if (entry !== undefined) {
        entry.value = value
        return
      }
      if (row.length >= most) makeRoom()
      places.set(key, row.length)
      row.push({ key, value })
    },
    delete(key) {
      const place = places.get(key)
      if (place !== undefined) remove(place)
      return place !== undefined
    },
    *entries() {
      for (const { key, value } of row) yield [key, value] as const
    },
    takeAny: () => remove(anywhere()),
  }
}
