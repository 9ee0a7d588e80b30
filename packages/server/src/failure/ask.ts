import type { Clock } from '@ratepact/contract'
import { listOf } from '../list.js'
import type { Op, Reply, Store } from '../store.js'
import type { Breaker } from './breaker.js'
import type { Breakers } from './breakers.js'
import { createDeadline } from './deadline.js'
import { replyIn } from './reply.js'
import { asStoreError, neverRun, StoreError } from './store-error.js'

export const DEFAULT_TIMEOUT_MS = 1000

/** Asks a store, and whoever else a decision waits for, for no longer than the store's own time limit. */
export interface Ask {
  /**
   * At once where the store answers so.
   * @throws or rejects with a StoreError when the store cannot be asked, or is left alone because it could not be
   */
  store(op: Op): Reply | Promise<Reply>
  /** The same, whatever the breaker says: what somebody asks for by hand is always tried. */
  anyway(op: Op): Reply | Promise<Reply>
  /** @throws StoreError of reason `timeout` when it takes longer */
  inTime<T>(promise: Promise<T>): Promise<T>
}

export function createAsk(store: Store, clock: Clock, breakers: Breakers): Ask {
  const timeoutMs = store.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const deadline = createDeadline(clock, timeoutMs)

  /** @param nth what the breaker knows the call by */
  function ask(op: Op, breaker?: Breaker, nth = 0): Reply | Promise<Reply> {
    let answer: ReturnType<Store['run']>
    try {
      answer = store.run(listOf(op), timeoutMs)
      if (isList(answer)) return read(answer, op, breaker)
    } catch (error) {
      // Whoever fails at once keeps nobody waiting.
      breaker?.succeeded()
      throw asStoreError(error)
    }
    return inTime(answer, op, breaker, nth)
  }

  function read(replies: readonly Reply[], op: Op, breaker: Breaker | undefined): Reply {
    const reply = replyIn(replies, op, store)
    breaker?.succeeded()
    return reply
  }

  function inTime(
    answer: Promise<readonly Reply[]>,
    op: Op,
    breaker: Breaker | undefined,
    nth: number,
  ): Promise<Reply> {
    return deadline.race(
      Promise.resolve(answer),
      (replies) => read(replies, op, breaker),
      (error) => {
        const failure = known(error, op)
        if (breaker === undefined) return failure
        // Neither does who answers that it is set up wrongly.
        if (failure.reason === 'configuration' && !isLate(error)) breaker.succeeded()
        else breaker.failed(nth, failure)
        return failure
      },
    )
  }

  /** What is known of a failure: of an op that has not been begun, why not. It never is. */
  function known(error: unknown, op: Op): StoreError {
    const why = isLate(error) ? withdrawn(op) : undefined
    return why === undefined ? asStoreError(error) : neverRun(asStoreError(why))
  }

  /** A store that fails even at this cannot say that it has not begun. */
  function withdrawn(op: Op): Error | undefined {
    try {
      return store.withdraw?.(op)
    } catch {
      return undefined
    }
  }

  return {
    inTime: (promise) => deadline.race(promise, (value) => value),
    anyway: (op) => ask(op),
    store(op) {
      const breaker = breakers.of(op)
      const nth = breaker.enter()
      // What it failed with last stands for what it would fail with now.
      if (typeof nth !== 'number') throw nth
      return ask(op, breaker, nth)
    },
  }
}

function isLate(error: unknown): boolean {
  return error instanceof StoreError && error.reason === 'timeout'
}

function isList<T>(answer: readonly T[] | Promise<readonly T[]>): answer is readonly T[] {
  return Array.isArray(answer)
}
