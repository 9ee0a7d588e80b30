import { type Events, seconds } from './events.js'
import type { KnownLimit } from './pace/pace.js'
import type { Partition } from './partition.js'
import type { Waiter } from './turn.js'

/** Servers choose the names of policies, and may choose new ones for ever. */
const mostTold = 100

/** Tells why the calls of a partition wait, each reason once until nobody waits. */
export class Waiting {
  readonly #events: Events
  readonly #told = new Set<string>()

  constructor(events: Events) {
    this.#events = events
  }

  /**
   * @param first who waits for the next turn, if anybody does
   * @param blocked whether the wait of a refusal is not over
   */
  tell({ label, queue, pace }: Partition, first: Waiter | undefined, blocked: boolean): void {
    if (first === undefined || this.#told.size > mostTold) this.#told.clear()
    if (first === undefined || !this.#events.hears('waiting')) return
    const { route, cost } = first
    const waitMs = queue.waitMs(route, cost)
    // Where no time is known, it is an answer in flight that will tell what is left.
    const reason = blocked ? 'refusal' : Number.isFinite(waitMs) ? 'limit' : 'answer'
    const [holding] = reason === 'answer' ? [] : [...pace.limits(route)].sort(byScarcity)
    const policy = holding && { policy: holding.policy }
    const key = `${reason} ${policy?.policy}`
    if (this.#told.has(key)) return
    this.#told.add(key)
    this.#events.tell(label, route, {
      type: 'waiting',
      reason,
      ...policy,
      queued: queue.size,
      ...seconds('waitSeconds', waitMs),
    })
  }
}

/** What holds a call for longest first; units that are kept for callers who come late hold it, too. */
function byScarcity(one: KnownLimit, other: KnownLimit): number {
  return other.waitSeconds - one.waitSeconds || one.available - other.available
}
