import type { Advances } from '../algorithm/advance.js'
import type { Policy } from '../policy.js'
import type { BucketOwner } from '../store.js'
import { endOf, type State, shareOf } from './ledger.js'

/** Whose state it is. */
interface Holder {
  readonly policy: Policy
  readonly owner: BucketOwner
}

interface Slot {
  readonly key: string
  readonly holder: Holder
  state: State
  /** Where the slot stands in the list, so that it can be taken out at once. */
  place: number
  /** What is kept beside the level of a bucket of which units have been taken ahead. */
  advances?: Advances | undefined
  /** Until when a process may hold units of it (µs). */
  heldUntilUs: number
}

/** A bounded map of buckets. */
export interface Shelf {
  get(key: string): State | undefined
  set(key: string, state: State, holder: Holder, nowUs: number): void
  advancesOf(key: string): Advances | undefined
  /** Notes that a process holds units of a bucket, which is therefore not forgotten before. */
  hold(key: string, advances: Advances | undefined, untilUs: number): void
  /** Whether it was there. */
  delete(key: string): boolean
}

const SAMPLES = 16

/**
 * Expired buckets leave when the shelf is full: all at once where enough came since the last look over all of
 * it, else those that are met. Failing that, of 16 taken by chance the one with the fewest units in use goes;
 * so a flood of new names pushes out its own before it frees somebody who used up a quota.
 */
export function createShelf(most: number, random: () => number, evicted: (holder: Holder) => void): Shelf {
  const slots = new Map<string, Slot>()
  const list: Slot[] = []
  let addedSinceSweep = Number.POSITIVE_INFINITY
  let nothingUntilUs = Number.NEGATIVE_INFINITY

  function remove(slot: Slot): void {
    slots.delete(slot.key)
    const last = list.pop() as Slot
    if (last === slot) return
    list[slot.place] = last
    last.place = slot.place
  }

  function sweep(nowUs: number): void {
    addedSinceSweep = 0
    for (let i = list.length - 1; i >= 0; i -= 1) {
      const slot = list[i] as Slot
      if (endOf(slot.state) <= nowUs) remove(slot)
    }
  }

  function makeRoom(nowUs: number): void {
    if (addedSinceSweep >= most / SAMPLES && nowUs >= nothingUntilUs) sweep(nowUs)
    if (list.length < most) return
    const sample = samples()
    const expired = sample.filter((slot) => endOf(slot.state) <= nowUs)
    for (const slot of new Set(expired)) remove(slot)
    if (expired.length > 0) return
    const least = leastOf(sample, nowUs) ?? leastOfAll(nowUs)
    if (least === undefined)
      throw new RangeError(`${most} buckets are all leased, and there is no room for more`)
    remove(least)
    evicted(least.holder)
  }

  /** A look at everything; when it found nothing but leases, not again until that may have changed. */
  function leastOfAll(nowUs: number): Slot | undefined {
    if (nowUs < nothingUntilUs) return undefined
    const least = leastOf(list, nowUs)
    if (least === undefined) nothingUntilUs = nowUs + 1e6
    return least
  }

  function samples(): Slot[] {
    if (list.length <= SAMPLES) return [...list]
    return Array.from({ length: SAMPLES }, () => list[Math.floor(random() * list.length)] as Slot)
  }

  return {
    get: (key) => slots.get(key)?.state,
    set(key, state, holder, nowUs) {
      const slot = slots.get(key)
      if (slot !== undefined) {
        slot.state = state
        return
      }
      if (list.length >= most) makeRoom(nowUs)
      addedSinceSweep += 1
      const added: Slot = { key, holder, state, place: list.length, heldUntilUs: 0 }
      slots.set(key, added)
      list.push(added)
    },
    advancesOf: (key) => slots.get(key)?.advances,
    hold(key, advances, untilUs) {
      const slot = slots.get(key)
      if (slot === undefined) return
      slot.advances = advances
      slot.heldUntilUs = Math.max(slot.heldUntilUs, untilUs)
    },
    delete(key) {
      const slot = slots.get(key)
      if (slot !== undefined) remove(slot)
      return slot !== undefined
    },
  }
}

/** The slot with the smallest share of its quota in use; places, and what a process holds units of, are never given up. */
function leastOf(among: readonly Slot[], nowUs: number): Slot | undefined {
  let least: Slot | undefined
  let leastShare = Number.POSITIVE_INFINITY
  for (const slot of among) {
    if (slot.heldUntilUs > nowUs) continue
    const share = shareOf(slot.state, nowUs, slot.holder.policy)
    if (share < leastShare) [least, leastShare] = [slot, share]
  }
  return least
}
