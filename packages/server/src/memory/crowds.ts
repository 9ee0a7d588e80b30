import { countOf, type Seen, threeUnitsMs, withSeen } from '../crowd.js'
import { homeText } from '../home.js'
import type { BucketOwner, Charge } from '../store.js'

/** Which client processes share what is counted for an owner. */
export interface Crowds {
  /**
   * How many share each bucket that is charged, 0 where that is not counted.
   * @param instance the one that calls, where it is to be noted
   */
  count(charges: readonly Charge[], instance: number | undefined, nowMs: number): readonly number[]
}

/** A bounded list: beyond so many processes in all, those of the owner who was longest without a new one are forgotten. */
export function createCrowds(most: number): Crowds {
  const crowds = new Map<string, readonly Seen[]>()
  let total = 0

  function keep(key: string, seen: readonly Seen[]): void {
    total += seen.length - (crowds.get(key)?.length ?? 0)
    crowds.delete(key)
    crowds.set(key, seen)
    for (const [oldest, { length }] of crowds) {
      if (total <= most || oldest === key) return
      total -= length
      crowds.delete(oldest)
    }
  }

  return {
    count(charges, instance, nowMs) {
      const threes = charges.map(({ policy }) => threeUnitsMs(policy))
      const keys = charges.map(({ owner }) => keyOf(owner))
      if (instance !== undefined)
        for (const key of new Set(keys)) {
          const longest = Math.max(0, ...threes.filter((_, i) => keys[i] === key).map((three = 0) => three))
          const before = crowds.get(key) ?? []
          const after = longest === 0 ? before : withSeen(before, instance, longest, nowMs)
          if (after !== before) keep(key, after)
        }
      return threes.map((three, i) =>
        three === undefined ? 0 : countOf(crowds.get(keys[i] as string) ?? [], three, nowMs),
      )
    },
  }
}

function keyOf(owner: BucketOwner): string {
  const { kind, value, scope } = owner
  return `${homeText(owner)}${kind} ${value.length}:${value}${scope === undefined ? '' : ` ${scope}`}`
}
