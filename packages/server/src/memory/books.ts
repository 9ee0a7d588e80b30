import { keptName, type Policy } from '../policy.js'
import type { BucketOwner } from '../store.js'
import type { Holder } from './ledger.js'

/** Who stands where: the buckets of each policy by their owner, and all of them in one row without gaps. */
export interface Books {
  size(): number
  find(holder: Holder): number | undefined
  /** @returns its place, the last one */
  add(holder: Holder): number
  /** The last bucket moves to the place that becomes free. */
  remove(place: number): void
  policyAt(place: number): Policy
  holderAt(place: number): Holder
}

/** The buckets of one policy, or of one shard of it. */
interface Book {
  readonly policy: Policy
  readonly shard: number | undefined
  /** With which kind of partition all of them are at home. */
  readonly home: string | undefined
  /** By their owner, as one text. */
  readonly places: Map<string, number>
}

/** Buckets are many, so of each there is no more here than the text of its owner, twice referred to. */
export function createBooks(): Books {
  // A bucket is the same by whatever object its policy is told: name, algorithm and kind of partition decide.
  const byName = new Map<string, Book>()
  const byPolicy = new WeakMap<Policy, Book>()
  const row: Book[] = []
  const owners: string[] = []
  // Most often the policy is the one that was asked about last, or the only one.
  let lastPolicy: Policy | undefined
  let lastBook: Book | undefined

  function bookOf({ policy, owner: { shard, home: at } }: Holder): Book {
    const home = at?.kind
    const known = policy === lastPolicy ? lastBook : byPolicy.get(policy)
    // A shard has a policy object of its own, so that one is found as quickly as the other.
    if (known !== undefined && known.shard === shard && known.home === home) {
      lastPolicy = policy
      lastBook = known
      return known
    }
    const name = `${keptName(policy)} ${policy.algorithm} ${policy.by} ${policy.perScope} ${shard} ${home}`
    const book = byName.get(name) ?? { policy, shard, home, places: new Map() }
    byName.set(name, book)
    byPolicy.set(policy, book)
    lastPolicy = undefined
    return book
  }

  return {
    size: () => row.length,
    find: (holder) => bookOf(holder).places.get(textOf(holder.owner)),
    add(holder) {
      const book = bookOf(holder)
      const text = textOf(holder.owner)
      book.places.set(text, row.length)
      owners.push(text)
      return row.push(book) - 1
    },
    remove(place) {
      row[place]?.places.delete(owners[place] as string)
      const book = row.pop() as Book
      const text = owners.pop() as string
      if (place === row.length) return
      row[place] = book
      owners[place] = text
      book.places.set(text, place)
    },
    policyAt: (place) => (row[place] as Book).policy,
    holderAt(place) {
      const { policy, shard, home } = row[place] as Book
      const owner = ownerIn(owners[place] as string, policy, home)
      return { policy, owner: shard === undefined ? owner : { ...owner, shard } }
    },
  }
}

/** The length goes before what callers choose, so that no two owners of a book share a text. */
function textOf({ value, scope, home }: BucketOwner): string {
  const own = scope === undefined ? value : `${value.length}:${value}${scope}`
  return home === undefined ? own : `${home.value.length}:${home.value}${own}`
}

function ownerIn(text: string, policy: Policy, home: string | undefined): BucketOwner {
  if (home !== undefined) {
    const [value, own] = cut(text)
    return { ...ownerIn(own, policy, undefined), home: { kind: home, value } }
  }
  if (!policy.perScope) return { kind: policy.by, value: text }
  const [value, scope] = cut(text)
  return { kind: policy.by, value, scope }
}

/** A text that begins with its length, and what comes after it. */
function cut(text: string): readonly [string, string] {
  const begins = text.indexOf(':') + 1
  const ends = begins + Number(text.slice(0, begins - 1))
  return [text.slice(begins, ends), text.slice(ends)]
}
