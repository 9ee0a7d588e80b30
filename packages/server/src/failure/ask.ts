import type { Clock } from '@ratepact/contract'
import { show } from '../expect.js'
import type { Op, Reply, Store } from '../store.js'
import { createDeadline } from './deadline.js'
import { StoreError } from './store-error.js'

const DEFAULT_TIMEOUT_MS = 1000

/** Asks a store, and whoever else a decision waits for, for no longer than the store's own time limit. */
export interface Ask {
  /** At once where the store answers so. @throws or rejects with whatever the store fails with, or a StoreError */
  store(op: Op): Reply | Promise<Reply>
  /** @throws StoreError of reason `timeout` when it takes longer */
  inTime<T>(promise: Promise<T>): Promise<T>
}

export function createAsk(store: Store, clock: Clock): Ask {
  const timeoutMs = store.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const deadline = createDeadline(clock, timeoutMs)
  return {
    inTime: (promise) => deadline.race(promise, (value) => value),
    store(op) {
      const answer = store.run([op], timeoutMs)
      const read = (replies: readonly Reply[]) => replyIn(replies, op, store)
      return isList(answer) ? read(answer) : deadline.race(Promise.resolve(answer), read)
    },
  }
}

function isList<T>(answer: readonly T[] | Promise<readonly T[]>): answer is readonly T[] {
  return Array.isArray(answer)
}

function replyIn(replies: readonly Reply[], op: Op, store: Store): Reply {
  const reply = Array.isArray(replies) ? replies[0] : undefined
  if (isReply(reply, op)) return reply
  throw new StoreError('error', `The store ${show(store.name)} gave an answer that is none`)
}

/** A store may be anybody's: what it answers is looked at before it is believed. */
function isReply(reply: Reply | undefined, op: Op): reply is Reply {
  if (typeof reply !== 'object' || reply === null || typeof reply.admitted !== 'boolean') return false
  const asked = readingsOf(op)
  const { readings, healed, nowUs, blockedUs } = reply
  if (!Array.isArray(readings) || !Array.isArray(healed) || readings.length !== asked) return false
  if (!Number.isFinite(nowUs) || !(blockedUs >= 0)) return false
  return readings.every((reading) => Array.isArray(reading) && reading.every(Number.isFinite))
}

function readingsOf(op: Op): number {
  if (op.kind === 'advance') return 1
  return op.kind === 'consume' || op.kind === 'peek' ? op.charges.length : 0
}
