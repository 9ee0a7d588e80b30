import type { Clock } from '@ratepact/contract'
import type { Check } from '../call.js'
import type { Decision } from '../decision.js'
import type { FailureReason } from '../events.js'
import { decisionOf } from '../judge.js'
import type { Holder } from '../memory/ledger.js'
import type { Receipt } from '../receipt.js'
import type { Op, Reply } from '../store.js'
import type { Breakers } from './breakers.js'
import { createLocal, type Local } from './local.js'
import { createInstances, type LocalMode, type OnStoreFailure } from './mode.js'
import { asStoreError, type StoreError } from './store-error.js'
import type { Watch } from './watch.js'

/** What becomes of calls for which the store could not be asked. */
export interface Fallback {
  /** To be told of the mode of a call before the store is asked, so that what the store says can be learned from. */
  expect(mode: OnStoreFailure): void
  /** Asks the store, which is told before of what it has not charged to the same buckets. */
  ask(op: Check): Reply | Promise<Reply>
  /** Notes an answer of the store. */
  answered(op: Check, reply: Reply): void
  /** Notes what this process had the store change. */
  changed(op: Op): void
  /** Tells of a failure that nobody waits for. */
  failed(error: unknown, mode: OnStoreFailure): void
  /** Decides a call by its mode. @param op what the store was asked; absent when it did not come to that */
  decide(error: unknown, mode: OnStoreFailure, op?: Check): Fallen
  /** The store may be there again. */
  hurry(): void
}

export interface Fallen {
  readonly decision: Decision
  readonly receipt?: Receipt | undefined
}

/** What a store that can be read still may fail with when it is to write: it has no memory left, is a replica, … */
const CAN_READ: ReadonlySet<FailureReason> = new Set(['unready', 'error'])

/** Seconds after which a call refused because the store is gone may try again, unless the breaker asks later. */
const UNAVAILABLE_SECONDS = 5

export function createFallback(
  clock: Clock,
  breakers: Breakers,
  watch: Watch,
  ask: (op: Op) => Reply | Promise<Reply>,
  scopeKeys: (scope: string) => Uint8Array,
  wholeOf: <T extends Holder>(bucket: T) => T,
): Fallback {
  const instancesOf = createInstances()
  let local: Local | undefined
  /** Whether the store has answered since it failed last. */
  let answers = false
  /** Whether it answered that it cannot: then only something written proves that it can, for reading it may all along. */
  let mustWrite = false

  function unavailable(op?: Check): Decision {
    const waitMs = op === undefined ? 0 : breakers.of(op).waitMs()
    const retryAfterSeconds = Math.max(UNAVAILABLE_SECONDS, waitMs / 1000)
    return { outcome: 'unavailable', allowed: false, retryAfterSeconds, source: 'none', shadow: [] }
  }

  function here(error: StoreError, mode: LocalMode, op: Check): Fallen {
    const made = openLocal().decide(op, instancesOf(mode), !error.mayHaveRun)
    // Whether it fits is for the whole quota to say, of which this process has a part.
    if (made === undefined) return { decision: unavailable(op) }
    const said = decisionOf(made.charges, made.reply, op.kind === 'consume', [], scopeKeys)
    const limits =
      'limits' in said && said.limits.map((limit, i) => ({ ...limit, quota: made.quotas[i] ?? limit.quota }))
    return {
      decision: { ...said, ...(limits && { limits }), source: 'local' } as Decision,
      receipt: made.receipt,
    }
  }

  function openLocal(): Local {
    const pay = async (op: Op) => {
      const reply = await ask(op)
      if (reply.admitted) recovered()
      return reply
    }
    local ??= createLocal(clock, pay, wholeOf)
    return local
  }

  function recovered(): void {
    mustWrite = false
    watch.answered()
  }

  function failed(error: StoreError, mode: OnStoreFailure, op?: Op): void {
    answers = false
    if (op?.kind !== 'peek' && CAN_READ.has(error.reason)) mustWrite = true
    watch.failed(error, typeof mode === 'object' ? 'local' : mode)
  }

  return {
    expect(mode) {
      if (typeof mode === 'object') openLocal()
    },
    ask(op) {
      // Until it answers a debt might be lost on the way: who finds out whether it does takes none along.
      if (local !== undefined && answers) local.repayFor(op.charges)
      return ask(op)
    },
    answered(op, reply) {
      answers = true
      if (!mustWrite || hasWritten(op, reply)) recovered()
      if (local === undefined) return
      local.learn(op, reply)
      local.repay()
    },
    changed: (op) => local?.changed(op),
    failed: (error, mode) => failed(asStoreError(error), mode),
    decide(error, mode, op) {
      const known = asStoreError(error)
      failed(known, mode, op)
      if (mode === 'open')
        return { decision: { outcome: 'unchecked', allowed: true, limits: [], source: 'none', shadow: [] } }
      if (mode === 'closed' || op === undefined) return { decision: unavailable(op) }
      return here(known, mode, op)
    },
    hurry() {
      breakers.hurry()
      local?.repay()
    },
  }
}

function hasWritten({ kind, charges }: Check, { admitted, replayed }: Reply): boolean {
  return kind === 'consume' && admitted && !replayed && charges.some(({ cost }) => cost > 0)
}
