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
    const holding = pace.limits(route).reduce(
      (most, limit) => {
        return limit.waitSeconds > (most?.waitSeconds ?? 0) ? limit : most
      },
      undefined as KnownLimit | undefined,
    )
    // With units left only an answer that is to come holds it: it shows whether others use them, too.
    const unknown = holding === undefined || (holding.waitSeconds === Infinity && holding.available >= 1)
    const reason = blocked ? 'refusal' : unknown ? 'answer' : 'limit'
    const policy = reason === 'answer' ? {} : holding && { policy: holding.policy }
    const key = `${reason} ${policy?.policy}`
    if (this.#told.has(key)) return
    this.#told.add(key)
    const wait = reason === 'answer' ? {} : seconds('waitSeconds', queue.waitMs(route, cost))
    this.#events.tell(label, route, { type: 'waiting', reason, ...policy, queued: queue.size, ...wait })
  }
}
