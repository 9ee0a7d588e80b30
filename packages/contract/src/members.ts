import { ignored } from './field-value.js'
import type { FieldResult } from './limits.js'
import type { FieldItem } from './structured-field.js'

/** A member of a field with its place in it. */
interface Placed<T> {
  index: number
  item: T
}

interface Dropped {
  index: number
  reason: string
}

/** The members of a field, those that are sound and what is wrong with the others. */
export interface Members<T> {
  sound: readonly Placed<T>[]
  malformed: readonly Dropped[]
}

/** Reads members one by one: one with a fault harms no other. */
export function readMembers<T>(
  items: Iterable<[index: number, item: FieldItem]>,
  read: (item: FieldItem) => T,
): Members<T> {
  const sound: Placed<T>[] = []
  const malformed: Dropped[] = []
  for (const [index, item] of items) {
    const value = read(item)
    if (item.fault === undefined) sound.push({ index, item: value })
    else malformed.push({ index, reason: item.fault })
  }
  return { sound, malformed }
}

interface Quota {
  policy: string
  partitionKey?: Uint8Array
}

/**
 * Keeps one member of each policy and partition key, at the place of the first, and tells which were
 * dropped. The draft has no rule for a repeated member, so each field brings its own preference.
 * A field of which nothing is left is ignored.
 */
export function keepOneOfEach<T extends Quota>(
  { sound, malformed }: Members<T>,
  prefersLater: (earlier: T, later: T) => boolean,
): FieldResult<T> {
  const dropped = [...malformed]
  if (sound.length < 2) return result(sound, dropped)
  const kept = new Map<string, Placed<T>>()
  for (const member of sound) {
    const key = identity(member.item)
    const earlier = kept.get(key)
    const isLater = earlier === undefined || prefersLater(earlier.item, member.item)
    const [chosen, loser] = isLater ? [member, earlier] : [earlier, member]
    kept.set(key, chosen)
    if (loser !== undefined)
      dropped.push({
        index: loser.index,
        reason: `item ${chosen.index} states the same policy and partition`,
      })
  }
  return result([...kept.values()], dropped)
}

function result<T>(kept: readonly Placed<T>[], dropped: Dropped[]): FieldResult<T> {
  const [first] = dropped
  if (kept.length > 0)
    return {
      status: 'ok',
      items: kept.map(({ item }) => item),
      dropped: dropped.sort((a, b) => a.index - b.index),
    }
  if (first === undefined) return { status: 'absent' }
  return ignored(`no usable item; item ${first.index}: ${first.reason}`)
}

/** A String has no line feed, so names and bytes cannot run into each other. */
function identity({ policy, partitionKey }: Quota): string {
  return partitionKey === undefined ? policy : `${policy}\n${partitionKey.join()}`
}
