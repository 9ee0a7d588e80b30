import type { BucketOwner } from '../store.js'

/** Who is blocked, and until when (µs; Infinity = for ever). */
export interface Blocks {
  /** @returns whether there was a block before */
  set(owner: BucketOwner, ms: number | 'forever' | 'none', nowUs: number): boolean
  /** µs that the longest block of these still lasts; 0 = none. */
  longest(owners: readonly BucketOwner[], nowUs: number): number
}

/** A bounded list: beyond it the oldest block that ends by itself is given up; those for ever are kept. */
export function createBlocks(most: number): Blocks {
  const ends = new Map<string, number>()

  function makeRoom(nowUs: number): void {
    for (const [key, endUs] of ends) if (endUs <= nowUs) ends.delete(key)
    if (ends.size < most) return
    for (const [key, endUs] of ends)
      if (endUs !== Number.POSITIVE_INFINITY) {
        ends.delete(key)
        return
      }
    throw new RangeError(`${most} partitions are blocked for ever, and there is no room for more`)
  }

  return {
    set(owner, ms, nowUs) {
      const key = keyOf(owner)
      const before = (ends.get(key) ?? 0) > nowUs
      ends.delete(key)
      if (ms === 'none') return before
      if (ends.size >= most) makeRoom(nowUs)
      ends.set(key, ms === 'forever' ? Number.POSITIVE_INFINITY : nowUs + Math.round(ms * 1000))
      return before
    },
    longest: (owners, nowUs) =>
      owners.reduce((longest, owner) => Math.max(longest, (ends.get(keyOf(owner)) ?? 0) - nowUs), 0),
  }
}

function keyOf({ kind, value }: BucketOwner): string {
  return `${kind} ${value}`
}
