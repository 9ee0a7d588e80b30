import { memoryStore, type Op, type Store, StoreError, type StoreEvent } from '@ratepact/server'
import type { TestClock } from '@ratepact/testing'

/** A store of a user's own, far away and not always there, on a clock that tests move. */
export interface FarStore extends Store {
  /** Ops that came to it. */
  readonly asked: readonly Op[]
  /** How it fares from now on: it answers, never does, or fails with this. */
  fare(fate: 'up' | 'silent' | Error): void
  /** How it fares where it is to write; what only reads is answered. */
  fareWriting(fate: 'up' | Error): void
  tell(event: StoreEvent): void
}

const START_MS = 1_700_000_000_000

export function farStore(clock: TestClock, timeoutMs = 50): FarStore {
  const inner = memoryStore({ clock: { now: () => START_MS + clock.now() } })
  const asked: Op[] = []
  const listeners: ((event: StoreEvent) => void)[] = []
  let fate: 'up' | 'silent' | Error = 'up'
  let writing: 'up' | Error = 'up'
  const look = async (op: Op): Promise<boolean> => {
    if (op.kind !== 'consume') return op.kind === 'peek'
    const { lease: _, ...asked } = op
    const [reply] = await inner.run([{ ...asked, kind: 'peek' }], 0)
    return reply?.admitted !== true
  }
  return {
    name: 'far',
    remote: true,
    timeoutMs,
    asked,
    fare: (next) => {
      fate = next
    },
    fareWriting: (next) => {
      writing = next
    },
    tell: (event) => {
      for (const listener of listeners) listener(event)
    },
    observe: (listener) => {
      listeners.push(listener)
    },
    async run(ops, deadlineMs) {
      asked.push(...ops)
      if (fate === 'silent') return new Promise(() => {})
      if (fate !== 'up') throw fate
      if (writing !== 'up') for (const op of ops) if (!(await look(op))) throw writing
      return inner.run(ops, deadlineMs)
    },
    close: () => inner.close(),
  }
}

/** A failure that proves that nothing was carried out. */
export const refused = (): StoreError =>
  new StoreError('disconnected', 'connect ECONNREFUSED', { code: 'ECONNREFUSED', mayHaveRun: false })

/** What Redis answers to a write when it has no memory left. */
export const full = (): StoreError =>
  new StoreError('unready', 'OOM command not allowed', { code: 'OOM', mayHaveRun: false })
