import type { Clock } from '@ratepact/contract'
import type { Op, Store } from '../store.js'
import { DEFAULT_TIMEOUT_MS } from './ask.js'
import { type Breaker, type BreakerState, createBreaker } from './breaker.js'
import type { StoreError } from './store-error.js'

/** The breakers of a store, one for each of its places: that one of them has failed says nothing of another. */
export interface Breakers {
  /** The one for where an op goes. */
  of(op: Op): Breaker
  /** Something speaks for it that the store is back: the next call may find out. */
  hurry(): void
}

/** More than a cluster has; what a store makes up beyond them has one breaker for all. */
const MOST_PLACES = 1000

/** @param changed told of each by itself; the place is absent of the one for all that has none */
export function createBreakers(
  store: Store,
  clock: Pick<Clock, 'now'>,
  changed: (state: BreakerState, waitMs: number, error: StoreError | undefined, place?: string) => void,
): Breakers {
  const timeoutMs = store.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const make = (place?: string) =>
    createBreaker(clock, timeoutMs, (state, waitMs, error) => changed(state, waitMs, error, place))
  const common = make()
  const places = new Map<string, Breaker>()

  function begin(place: string): Breaker {
    if (places.size >= MOST_PLACES) return common
    const breaker = make(place)
    places.set(place, breaker)
    // While no place was known it stood for all of them.
    common.succeeded()
    return breaker
  }

  return {
    of(op) {
      const place = placeIn(store, op)
      return place === undefined ? common : (places.get(place) ?? begin(place))
    },
    hurry() {
      common.hurry()
      for (const breaker of places.values()) breaker.hurry()
    },
  }
}

/** A store may be anybody's: one that cannot say has none. */
function placeIn(store: Store, op: Op): string | undefined {
  try {
    return store.placeOf?.(op)
  } catch {
    return undefined
  }
}
