import type { Settings } from './options.js'
import { createPace } from './pace/engine.js'
import { Partition } from './partition.js'
import { Resting } from './resting.js'

/** A stated block is believed for at least this long before one call asks again. */
const leastBelievedMs = 600_000

/** The partitions of one client: all that are in use, and of the others those worth keeping. */
export class Partitions {
  readonly #settings: Settings
  readonly #known = new Map<string, Partition>()
  readonly #resting = new Resting((key) => this.#known.delete(key))
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
    return this.#known.get(key) ?? this.#make(key, origin)
  }

  values(): Iterable<Partition> {
    return this.#known.values()
  }

  #make(key: string, origin: string): Partition {
    const { clock, random, policies, perCall } = this.#settings
    this.#made += 1
    const maxBlockMs = Math.max(perCall.maxWaitMs, leastBelievedMs)
    const pace = createPace({ clock, random, policies, maxBlockMs })
    const partition = new Partition(`${origin} #${this.#made}`, pace, this.#settings, () => {
      // One that was forgotten before its first call must not take the place of its successor.
      if (this.#known.get(key) === partition) this.#resting.add(key, partition)
    })
    this.#known.set(key, partition)
    this.#resting.add(key, partition)
    return partition
  }
}
