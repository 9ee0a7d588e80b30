import { homeText } from '../home.js'
import type { BucketOwner } from '../store.js'
import { createBoundedMap } from './bounded-map.js'

/** Who is blocked, as far as this process knows, and until when (µs; Infinity = for ever). */
export interface Blocked {
  /** Notes what the store said of some together: until when, or that none of them is. Which of several was is not said. */
  learn(owners: readonly BucketOwner[], untilUs: number | undefined): void
  /** Notes what was done to each of some. */
  set(owners: readonly BucketOwner[], untilUs: number | undefined): void
  /** Until when any of these is, or all of them together; 0 where that is not known. */
  untilUs(owners: readonly BucketOwner[]): number
}

interface Block {
  readonly untilUs: number
  /** Whoever it may be of. */
  readonly texts: readonly string[]
}

export function createBlocked(most: number): Blocked {
  const blocks = createBoundedMap<Block>(most, { worthOf: ({ untilUs }) => untilUs })

  function put(texts: readonly string[], untilUs: number | undefined): void {
    const key = texts.join(' ')
    if (untilUs === undefined) blocks.delete(key)
    else blocks.set(key, { untilUs, texts })
  }

  function forgetOf(text: string): void {
    for (const [key, { texts }] of [...blocks.entries()]) if (texts.includes(text)) blocks.delete(key)
  }

  return {
    learn(owners, untilUs) {
      if (owners.length === 0 || (untilUs === undefined && blocks.size === 0)) return
      const texts = owners.map(textOf)
      put(texts, untilUs)
      if (untilUs === undefined) for (const text of texts) put([text], undefined)
    },
    set(owners, untilUs) {
      for (const text of new Set(owners.map(textOf))) {
        if (blocks.size > 0) forgetOf(text)
        put([text], untilUs)
      }
    },
    untilUs(owners) {
      if (owners.length === 0 || blocks.size === 0) return 0
      const texts = owners.map(textOf)
      return Math.max(...[texts.join(' '), ...texts].map((key) => blocks.get(key)?.untilUs ?? 0))
    },
  }
}

/** All shards of somebody are blocked together. Lengths go before what callers choose. */
function textOf({ shard: _, ...owner }: BucketOwner): string {
  return `${homeText(owner)}${owner.kind} ${owner.value.length}:${owner.value}`
}
