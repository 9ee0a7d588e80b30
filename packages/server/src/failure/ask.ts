import type { Clock } from '@ratepact/contract'
import type { Op, Reply, Store } from '../store.js'
import { createDeadline } from './deadline.js'
import { StoreError } from './store-error.js'

const DEFAULT_TIMEOUT_MS = 1000

/** Asks a store, and whoever else a decision waits for, for no longer than the store's own time limit. */
export interface Ask {
  store(op: Op): Promise<Reply>
  /** @throws StoreError of reason `timeout` when it takes longer */
  inTime<T>(promise: Promise<T>): Promise<T>
}

export function createAsk(store: Store, clock: Clock): Ask {
  const timeoutMs = store.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const deadline = createDeadline(clock, timeoutMs)
  return {
    inTime: (promise) => deadline.race(promise),
    async store(op) {
      const answer = store.run([op], timeoutMs)
      const [reply] = Array.isArray(answer) ? answer : await deadline.race(Promise.resolve(answer))
      if (reply === undefined) throw new StoreError('error', `The store ${store.name} left an op unanswered`)
      return reply
    },
  }
}
