import type { Advances } from '../algorithm/advance.js'
import { type Draft, emptyCount } from '../algorithm/bucket.js'
import { createBooks } from './books.js'
import { createColumns } from './columns.js'
import { endOf, type Holder, type State, shareOf } from './ledger.js'

/** A bounded set of buckets. */
export interface Shelf {
  get(holder: Holder): State | undefined
  set(holder: Holder, state: State, nowUs: number): void
  /** Where a bucket stands, for who looks at it and writes it at once: until any other is set or deleted. */
  find(holder: Holder): number | undefined
  read(place: number, into: Draft): State
  write(place: number, state: State): void
  advancesOf(holder: Holder): Advances | undefined
  /** Notes that a process holds units of a bucket, which is therefore not forgotten before. */
  hold(holder: Holder, advances: Advances | undefined, untilUs: number): void
  /** Whether it was there. */
  delete(holder: Holder): boolean
}

const SAMPLES = 16

/**
 * Expired buckets leave when the shelf is full: all at once where enough came since the last look over all of
 * it, else those that are met. Failing that, of 16 taken by chance the one with the fewest units in use goes;
 * so a flood of new names pushes out its own before it frees somebody who used up a quota.
 */
export function createShelf(most: number, random: () => number, evicted: (holder: Holder) => void): Shelf {
  const books = createBooks()
  const columns = createColumns(most)
  const draft = emptyCount()
  let addedSinceSweep = Number.POSITIVE_INFINITY
  let nothingUntilUs = Number.NEGATIVE_INFINITY

  /** Takes a bucket out; the last one moves to its place. */
  function remove(place: number): void {
    books.remove(place)
    columns.remove(place)
  }

  function sweep(nowUs: number): void {
    addedSinceSweep = 0
    for (let place = books.size() - 1; place >= 0; place -= 1)
      if (endOf(columns.read(place, draft)) <= nowUs) remove(place)
  }

  function makeRoom(nowUs: number): void {
    if (addedSinceSweep >= most / SAMPLES && nowUs >= nothingUntilUs) sweep(nowUs)
    if (books.size() < most) return
    const sample = samples()
    const expired = sample.filter((place) => endOf(columns.read(place, draft)) <= nowUs)
    // From the end, so that none of those still to go has moved.
    for (const place of [...new Set(expired)].sort((a, b) => b - a)) remove(place)
    if (expired.length > 0) return
    const least = leastOf(sample, nowUs) ?? leastOfAll(nowUs)
    if (least === undefined)
      throw new RangeError(`${most} buckets are all leased, and there is no room for more`)
    const holder = books.holderAt(least)
    remove(least)
    evicted(holder)
  }

  /** A look at everything; when it found nothing but leases, not again until that may have changed. */
  function leastOfAll(nowUs: number): number | undefined {
    if (nowUs < nothingUntilUs) return undefined
    const least = leastOf(
      Array.from({ length: books.size() }, (_, place) => place),
      nowUs,
    )
    if (least === undefined) nothingUntilUs = nowUs + 1e6
    return least
  }

  function samples(): readonly number[] {
    const size = books.size()
    if (size <= SAMPLES) return Array.from({ length: size }, (_, place) => place)
    return Array.from({ length: SAMPLES }, () => Math.floor(random() * size))
  }

  /** The bucket with the smallest share of its quota in use; places, and what a process holds units of, are never given up. */
  function leastOf(among: readonly number[], nowUs: number): number | undefined {
    let least: number | undefined
    let leastShare = Number.POSITIVE_INFINITY
    for (const place of among) {
      if (columns.heldUntilUs(place) > nowUs) continue
      const share = shareOf(columns.read(place, draft), nowUs, books.policyAt(place))
      if (share >= leastShare) continue
      least = place
      leastShare = share
    }
    return least
  }

  return {
    get(holder) {
      const place = books.find(holder)
      return place === undefined ? undefined : columns.read(place)
    },
    find: books.find,
    read: columns.read,
    write: columns.write,
    set(holder, state, nowUs) {
      const place = books.find(holder)
      if (place !== undefined) {
        columns.write(place, state)
        return
      }
      if (books.size() >= most) makeRoom(nowUs)
      addedSinceSweep += 1
      columns.write(books.add(holder), state)
    },
    advancesOf(holder) {
      const place = books.find(holder)
      return place === undefined ? undefined : columns.advances(place)
    },
    hold(holder, advances, untilUs) {
      const place = books.find(holder)
      if (place !== undefined) columns.hold(place, advances, untilUs)
    },
    delete(holder) {
      const place = books.find(holder)
      if (place !== undefined) remove(place)
      return place !== undefined
    },
  }
}
