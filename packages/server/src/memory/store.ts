import { type Clock, systemClock } from '@ratepact/contract'
import { fits, isDated, levelAt, stateOf } from '../algorithm/bucket.js'
import { expectInteger, expectObject, expectOnly } from '../expect.js'
import type { Charge, Op, Reply, Store, StoreEvent } from '../store.js'
import { createShelf } from './shelf.js'

export interface MemoryStoreOptions {
  /** The most buckets kept; beyond it one is forgotten for each that comes. @default 100_000 */
  readonly maxBuckets?: number
  /** Where time comes from. @default the machine's monotonic clock */
  readonly clock?: Pick<Clock, 'now'>
  /** Chooses which buckets are looked at when the store is full: a number from 0 up to 1. @default Math.random */
  readonly random?: () => number
}

/**
 * Buckets in this process. For one process, for tests, and as a start: several processes each count for
 * themselves. Nothing runs in the background and nothing keeps the process alive.
 * @throws TypeError or RangeError naming the option, the value and the rule
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  expectObject('the options of memoryStore', options)
  expectOnly('memoryStore', options, ['maxBuckets', 'clock', 'random'])
  const { maxBuckets = 100_000, clock = systemClock, random = Math.random } = options
  expectInteger('maxBuckets', maxBuckets, 1, 2 ** 24)
  let report: (event: StoreEvent) => void = () => {}
  const shelf = createShelf(maxBuckets, random, ({ policy, owner }) =>
    report({ type: 'evicted', policy: policy.name, owner }),
  )

  function runOne(op: Op): Reply {
    const nowUs = Math.round(clock.now() * 1000)
    const keys = op.charges.map(bucketKey)
    if (op.kind === 'reset') {
      for (const key of keys) shelf.delete(key)
      return { admitted: true, levels: [], healed: [] }
    }
    const states = keys.map((key) => shelf.get(key))
    const levels = op.charges.map(({ policy }, i) => levelAt(states[i], nowUs, policy))
    const admitted = op.charges.every(({ policy, cost }, i) => fits(levels[i] as number, cost, policy))
    if (op.kind === 'consume')
      for (const [i, charge] of op.charges.entries()) {
        const { policy, cost } = charge
        const state = states[i]
        const taken = admitted ? cost * policy.ticks.unit : 0
        // Like the script in Redis: what was kept under other numbers or another clock counts by the new from now on.
        if (taken > 0 || (state !== undefined && isDated(state, nowUs, policy)))
          shelf.set(keys[i] as string, stateOf((levels[i] as number) + taken, nowUs, policy), charge, nowUs)
      }
    return { admitted, levels, healed: [] }
  }

  return {
    name: 'memory',
    run: (ops) => ops.map(runOne),
    observe: (listener) => {
      report = listener
    },
    close: async () => shelf.clear(),
  }
}

/** One text per bucket. Lengths go before what callers choose, so that no two buckets share a key. */
function bucketKey({ policy, owner }: Charge): string {
  const scope = owner.scope === undefined ? '' : `${owner.scope.length}:${owner.scope}`
  return `${policy.name} ${policy.algorithm} ${owner.kind} ${owner.value.length}:${owner.value}${scope}`
}
