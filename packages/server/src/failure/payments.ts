import { createBoundedMap } from './bounded-map.js'
import { bucketKey } from './bucket-key.js'
import type { Debt } from './debts.js'

/** Units that the store was charged, and where they count there. */
export interface Payment {
  readonly mark: number
  units: number
}

type Bucket = Pick<Debt, 'policy' | 'owner'>

/**
 * Where the store counts what it was charged afterwards, for buckets in which that is not where it was granted: what is
 * given back later is taken out there. A bounded list; of each bucket, the last few.
 */
export interface Payments {
  note(bucket: Bucket, mark: number, units: number): void
  /** Whether there is anything to be given back. */
  has(bucket: Bucket): boolean
  /** Takes out so many units at most, what was paid last first. */
  takeOut(bucket: Bucket, units: number): readonly Payment[]
}

const MOST_OF_EACH = 8

export function createPayments(most: number): Payments {
  const known = createBoundedMap<Payment[]>(most)
  return {
    note(bucket, mark, units) {
      const key = bucketKey(bucket)
      const payments = known.get(key) ?? []
      const same = payments.find((one) => one.mark === mark)
      if (same === undefined) payments.push({ mark, units })
      else same.units += units
      if (payments.length > MOST_OF_EACH) payments.shift()
      known.set(key, payments)
    },
    has: (bucket) => known.get(bucketKey(bucket)) !== undefined,
    takeOut(bucket, units) {
      const key = bucketKey(bucket)
      const payments = known.get(key) ?? []
      const taken: Payment[] = []
      let left = units
      while (left > 0) {
        const last = payments.at(-1)
        if (last === undefined) break
        const part = Math.min(left, last.units)
        taken.push({ mark: last.mark, units: part })
        left -= part
        last.units -= part
        if (last.units === 0) payments.pop()
      }
      if (payments.length === 0) known.delete(key)
      return taken
    },
  }
}
