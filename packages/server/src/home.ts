import type { BucketOwner } from './store.js'

/**
 * What tells an owner apart from one of the same kind and value in another home, or another shard. Lengths go before
 * what callers choose.
 */
export function homeText({ home, shard }: BucketOwner): string {
  if (shard !== undefined) return `#${shard} `
  return home === undefined ? '' : ` in ${home.kind} ${home.value.length}:${home.value} `
}
