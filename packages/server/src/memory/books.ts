import type { Policy } from '../policy.js'
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
  readonly shard?: number
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
  // Most often what has just been read is written next.
  let lastBook: Book | undefined
  let lastText = ''
  let lastPlace: number | undefined

  function bookOf(policy: Policy, shard: number | undefined): Book {
    const known = byPolicy.get(policy)
    // A shard has a policy object of its own, so that one is found as quickly as the other.
    if (known !== undefined && known.shard === shard) return known
    const name = `${policy.name} ${policy.algorithm} ${policy.by} ${policy.perScope} ${shard}`
    const book = byName.get(name) ?? { policy, ...(shard !== undefined && { shard }), places: new Map() }
    byName.set(name, book)
    byPolicy.set(policy, book)
    return book
  }

  return {
    size: () => row.length,
    find({ policy, owner }) {
      const book = bookOf(policy, owner.shard)
      const text = textOf(owner)
      if (book === lastBook && text === lastText) return lastPlace
      lastBook = book
      lastText = text
      lastPlace = book.places.get(text)
      return lastPlace
    },
    add({ policy, owner }) {
      const book = bookOf(policy, owner.shard)
      const text = textOf(owner)
      lastBook = undefined
      book.places.set(text, row.length)
      owners.push(text)
      return row.push(book) - 1
    },
    remove(place) {
      lastBook = undefined
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
      const { policy, shard } = row[place] as Book
      const owner = ownerIn(owners[place] as string, policy)
      return { policy, owner: shard === undefined ? owner : { ...owner, shard } }
    },
  }
}

/** The length goes before what callers choose, so that no two owners share a text. */
function textOf({ value, scope }: BucketOwner): string {
  return scope === undefined ? value : `${value.length}:${value}${scope}`
}

function ownerIn(text: string, { by, perScope }: Policy): BucketOwner {
  if (!perScope) return { kind: by, value: text }
  const begins = text.indexOf(':') + 1
  const ends = begins + Number(text.slice(0, begins - 1))
  return { kind: by, value: text.slice(begins, ends), scope: text.slice(ends) }
}
