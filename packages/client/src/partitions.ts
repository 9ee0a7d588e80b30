import type { Settings } from './options.js'
import { createPace } from './pace/engine.js'
import { Partition } from './partition.js'

/** How many partitions nobody uses are remembered. */
const mostIdle = 1000
/** A stated block is believed for at least this long before one call asks again. */
const leastBelievedMs = 600_000

/** The partitions of one client, those used last kept longest. */
export class Partitions {
  readonly #settings: Settings
  readonly #known = new Map<string, Partition>()
  #made = 0

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** The partition of that key, if it is known. */
  find(key: string): Partition | undefined {
    return this.#known.get(key)
  }

  /** The partition of that key, made if need be. */
  open(key: string, origin: string): Partition {
    const known = this.#known.get(key)
    // Taken out and put in again: a Map keeps the order of insertion, so the first entries are the stalest.
    if (known !== undefined) this.#known.delete(key)
    const partition = known ?? this.#make(origin)
    this.#known.set(key, partition)
    if (this.#known.size > mostIdle) this.#forget(partition)
    return partition
  }

  values(): Iterable<Partition> {
    return this.#known.values()
  }

  #make(origin: string): Partition {
    const { clock, random, policies, perCall, maxQueue } = this.#settings
    this.#made += 1
    const maxBlockMs = Math.max(perCall.maxWaitMs, leastBelievedMs)
    const pace = createPace({ clock, random, policies, maxBlockMs })
    return new Partition(`${origin} #${this.#made}`, pace, clock, maxQueue)
  }

  /** Lets go of the one that was idle longest. Those in use do not count. */
  #forget(newest: Partition): void {
    for (const [key, partition] of this.#known) {
      if (partition.busy > 0 || partition === newest) continue
      this.#known.delete(key)
      return
    }
  }
}
