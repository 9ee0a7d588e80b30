import type { BucketState } from '../algorithm/bucket.js'
import type { Charge } from '../store.js'

interface Slot {
  readonly key: string
  readonly charge: Charge
  state: BucketState
  /** Where the slot stands in the list, so that it can be taken out at once. */
  place: number
}

/** A bounded map of buckets. */
export interface Shelf {
  get(key: string): BucketState | undefined
  set(key: string, state: BucketState, charge: Charge, nowUs: number): void
  delete(key: string): void
  clear(): void
}

const SAMPLES = 16

/**
 * Expired buckets leave when the shelf is full: all at once where enough came since the last look over all of
 * it, else those that are met. Failing that, of 16 taken by chance the one with the fewest units in use goes;
 * so a flood of new names pushes out its own before it frees somebody who used up a quota.
 */
export function createShelf(most: number, random: () => number, evicted: (charge: Charge) => void): Shelf {
  const slots = new Map<string, Slot>()
  const list: Slot[] = []
  let addedSinceSweep = Number.POSITIVE_INFINITY

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
      if (slot.state.untilUs <= nowUs) remove(slot)
    }
  }

  function makeRoom(nowUs: number): void {
    if (addedSinceSweep >= most / SAMPLES) sweep(nowUs)
    if (list.length < most) return
    const sample = samples()
    const expired = sample.filter((slot) => slot.state.untilUs <= nowUs)
    for (const slot of new Set(expired)) remove(slot)
    if (expired.length > 0) return
    const least = sample.reduce((a, b) => (usedUnits(b, nowUs) < usedUnits(a, nowUs) ? b : a))
    remove(least)
    evicted(least.charge)
  }

  function samples(): Slot[] {
    if (list.length <= SAMPLES) return [...list]
    return Array.from({ length: SAMPLES }, () => list[Math.floor(random() * list.length)] as Slot)
  }

  return {
    get: (key) => slots.get(key)?.state,
    set(key, state, charge, nowUs) {
      const slot = slots.get(key)
      if (slot !== undefined) {
        slot.state = state
        return
      }
      if (list.length >= most) makeRoom(nowUs)
      addedSinceSweep += 1
      const added: Slot = { key, charge, state, place: list.length }
      slots.set(key, added)
      list.push(added)
    },
    delete(key) {
      const slot = slots.get(key)
      if (slot !== undefined) remove(slot)
    },
    clear() {
      slots.clear()
      list.length = 0
    },
  }
}

/** Share of the quota in use now: an exhausted bucket is worth the most. */
function usedUnits({ state, charge }: Slot, nowUs: number): number {
  const left = (state.untilUs - nowUs) / (state.untilUs - state.atUs)
  return (state.used * left) / (charge.policy.capacity * charge.policy.ticks.unit)
}
