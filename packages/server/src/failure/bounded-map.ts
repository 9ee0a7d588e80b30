/** A map that forgets: of what was set longest ago, half of all at a time. */
export interface BoundedMap<V> {
  readonly size: number
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): boolean
  /** From what was set longest ago. */
  entries(): IterableIterator<[string, V]>
}

/**
 * Two maps, of which the older is let go when the younger is half full. One map from which the oldest entry is taken
 * for each that comes would be slow: finding its first entry means to step over all that were taken out before.
 */
export function createBoundedMap<V>(most: number, forgotten: (value: V) => void = () => {}): BoundedMap<V> {
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  return {
    get size() {
      return young.size + old.size
    },
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      old.delete(key)
      young.set(key, value)
      if (young.size < most / 2) return
      for (const value of old.values()) forgotten(value)
      old = young
      young = new Map()
    },
    delete: (key) => young.delete(key) || old.delete(key),
    *entries() {
      yield* old.entries()
      yield* young.entries()
    },
  }
}
