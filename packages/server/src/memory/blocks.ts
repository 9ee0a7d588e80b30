import { homeText } from '../home.js'
import type { BucketOwner } from '../store.js'

/** Who is blocked, and until when (µs; Infinity = for ever). */
export interface Blocks {
  /** @returns whether there was a block before */
  set(owner: BucketOwner, ms: number | 'forever' | 'none', nowUs: number): boolean
  /** µs that the longest block of these still lasts; 0 = none. */
  longest(owners: readonly BucketOwner[], nowUs: number): number
}

/** Infinity where it is for ever. */
interface Block {
  readonly endUs: number
  readonly lengthUs: number
}

/** A bounded list: beyond it the oldest block that ends by itself is given up; those for ever are kept. */
export function createBlocks(most: number): Blocks {
  const blocks = new Map<string, Block>()

  function makeRoom(nowUs: number): void {
    for (const [key, { endUs }] of blocks) if (endUs <= nowUs) blocks.delete(key)
    if (blocks.size < most) return
    for (const [key, { endUs }] of blocks)
      if (endUs !== Number.POSITIVE_INFINITY) {
        blocks.delete(key)
        return
      }
    throw new RangeError(`${most} partitions are blocked for ever, and there is no room for more`)
  }

  /** When the clock was set back a block does not last longer than it was to. */
  function leftOf(owner: BucketOwner, nowUs: number): number {
    const block = blocks.get(keyOf(owner))
    return block === undefined ? 0 : Math.min(block.endUs - nowUs, block.lengthUs)
  }

  return {
    set(owner, ms, nowUs) {
      const key = keyOf(owner)
      const before = leftOf(owner, nowUs) > 0
      blocks.delete(key)
      if (ms === 'none') return before
      if (blocks.size >= most) makeRoom(nowUs)
      const lengthUs = ms === 'forever' ? Number.POSITIVE_INFINITY : Math.round(ms * 1000)
      blocks.set(key, { endUs: nowUs + lengthUs, lengthUs })
      return before
    },
    longest: (owners, nowUs) => owners.reduce((longest, owner) => Math.max(longest, leftOf(owner, nowUs)), 0),
  }
}

function keyOf(owner: BucketOwner): string {
  return `${homeText(owner)}${owner.kind} ${owner.value}`
}
