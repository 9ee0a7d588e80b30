/** A member of a field with its place in it. */
export interface Placed<T> {
  index: number
  item: T
}

interface Quota {
  policy: string
  partitionKey?: Uint8Array
}

/**
 * Keeps one member of each policy and partition key, at the place of the first, and tells which were
 * dropped. The draft has no rule for a repeated member, so each field brings its own preference.
 */
export function keepOneOfEach<T extends Quota>(
  members: readonly Placed<T>[],
  prefersLater: (earlier: T, later: T) => boolean,
): { items: T[]; dropped: { index: number; reason: string }[] } {
  if (members.length < 2) return { items: members.map(({ item }) => item), dropped: [] }
  const kept = new Map<string, Placed<T>>()
  const dropped: { index: number; reason: string }[] = []
  for (const member of members) {
    const key = identity(member.item)
    const earlier = kept.get(key)
    const chosen = earlier === undefined || prefersLater(earlier.item, member.item) ? member : earlier
    kept.set(key, chosen)
    if (earlier === undefined) continue
    const loser = chosen === member ? earlier : member
    dropped.push({ index: loser.index, reason: `item ${chosen.index} states the same policy and partition` })
  }
  return { items: Array.from(kept.values(), (member) => member.item), dropped }
}

/** A String has no line feed, so names and bytes cannot run into each other. */
function identity(quota: Quota): string {
  return quota.partitionKey === undefined ? quota.policy : `${quota.policy}\n${quota.partitionKey.join()}`
}
