import type { Advances } from '../algorithm/advance.js'
import { countOf, type Draft } from '../algorithm/bucket.js'
import type { State } from './ledger.js'

/** What is kept of each bucket, by its place in a row without gaps. */
export interface Columns {
  /** @param into what is made into the count, if it is one; it is kept by who calls, not here */
  read(place: number, into?: Draft): State
  /** At a place, or at the one after the last. */
  write(place: number, state: State): void
  /** The last one moves to the place that becomes free. */
  remove(place: number): void
  advances(place: number): Advances | undefined
  heldUntilUs(place: number): number
  hold(place: number, advances: Advances | undefined, untilUs: number): void
}

/** What few buckets have: a log or places instead of a count, units that processes hold. */
interface Beside {
  state?: Exclude<State, { kind: 'count' }> | undefined
  advances?: Advances | undefined
  heldUntilUs: number
}

/** Numbers of a count: until, at, used, unit. */
const NUMBERS = 4

/** Counts are kept as plain numbers, 32 bytes each: a million objects would take several times as much. */
export function createColumns(most: number): Columns {
  let numbers = new Float64Array(NUMBERS * Math.min(most, 64))
  const besides = new Map<number, Beside>()
  let size = 0

  function makeRoom(place: number): void {
    if ((place + 1) * NUMBERS <= numbers.length) return
    const larger = new Float64Array(NUMBERS * Math.min(most, Math.max(place + 1, Math.ceil(place * 1.5))))
    larger.set(numbers)
    numbers = larger
  }

  function besideAt(place: number): Beside {
    const known = besides.get(place)
    if (known !== undefined) return known
    const beside: Beside = { heldUntilUs: 0 }
    besides.set(place, beside)
    return beside
  }

  return {
    read(place, into) {
      const state = besides.size === 0 ? undefined : besides.get(place)?.state
      if (state !== undefined) return state
      const at = place * NUMBERS
      return countOf(
        numbers[at] as number,
        numbers[at + 1] as number,
        numbers[at + 2] as number,
        numbers[at + 3] as number,
        into,
      )
    },
    write(place, state) {
      if (place >= size) size = place + 1
      if (state.kind !== 'count') {
        besideAt(place).state = state
        return
      }
      makeRoom(place)
      const { untilUs, atUs, used, unit } = state
      const at = place * NUMBERS
      numbers[at] = untilUs
      numbers[at + 1] = atUs
      numbers[at + 2] = used
      numbers[at + 3] = unit
    },
    remove(place) {
      size -= 1
      besides.delete(place)
      if (place === size) return
      if (size * NUMBERS < numbers.length)
        numbers.copyWithin(place * NUMBERS, size * NUMBERS, (size + 1) * NUMBERS)
      const moved = besides.get(size)
      if (moved === undefined) return
      besides.delete(size)
      besides.set(place, moved)
    },
    advances: (place) => besides.get(place)?.advances,
    heldUntilUs: (place) => (besides.size === 0 ? 0 : (besides.get(place)?.heldUntilUs ?? 0)),
    hold(place, advances, untilUs) {
      if (advances === undefined && untilUs === 0 && !besides.has(place)) return
      const beside = besideAt(place)
      beside.advances = advances
      beside.heldUntilUs = Math.max(beside.heldUntilUs, untilUs)
    },
  }
}
