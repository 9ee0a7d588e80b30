import type { Op, Reply, Store } from '@ratepact/server'

/** What a store was given to charge, as a bookkeeper beside it sees it. All in units. */
export interface Ledger {
  /** Certainly charged: the store said so. */
  readonly sure: number
  /** Given to the store, which has neither said so nor that it did not. */
  readonly unsure: number
  /** Of which nobody knew within the time limit whether they had been charged. They were not, as it turned out. */
  readonly late: number
  /** Ops of which nothing has been heard yet. */
  readonly pending: number
}

/** Books what goes through a store, in the manner of a proxy: nothing that the store does is changed. */
export function booked(store: Store): { readonly store: Store; readonly ledger: Ledger } {
  let sure = 0
  let unsure = 0
  let late = 0
  const open = new Map<Op, { readonly units: number; readonly dueMs: number }>()

  /** An op is settled once; what is withdrawn fails as well. */
  function settle(op: Op, become: (units: number, inTime: boolean) => void): void {
    const given = open.get(op)
    if (given === undefined) return
    open.delete(op)
    become(given.units, performance.now() < given.dueMs)
  }

  function ran(op: Op, reply: Reply | undefined): void {
    settle(op, (units) => {
      if (reply?.admitted === true) sure += units
    })
  }

  function failed(op: Op, error: unknown): void {
    settle(op, (units, inTime) => {
      if ((error as { mayHaveRun?: boolean }).mayHaveRun !== false) unsure += units
      else if (!inTime) late += units
    })
  }

  function withdraw(op: Op): Error | undefined {
    const why = store.withdraw?.(op)
    if (why !== undefined) open.delete(op)
    return why
  }

  return {
    store: {
      ...store,
      withdraw,
      async run(ops, deadlineMs) {
        // The limiter's own timer may be a little ahead.
        const dueMs = performance.now() + deadlineMs * 0.9
        for (const op of ops) open.set(op, { units: unitsOf(op), dueMs })
        try {
          const replies = await store.run(ops, deadlineMs)
          for (const [i, op] of ops.entries()) ran(op, replies[i])
          return replies
        } catch (error) {
          for (const op of ops) failed(op, error)
          throw error
        }
      },
    },
    ledger: {
      get sure() {
        return sure
      },
      get unsure() {
        return unsure
      },
      get late() {
        return late
      },
      get pending() {
        return open.size
      },
    },
  }
}

function unitsOf(op: Op): number {
  if (op.kind === 'consume') return op.charges.reduce((sum, { cost }) => sum + cost, 0)
  if (op.kind === 'adjust') return op.changes.reduce((sum, { units }) => sum + units, 0)
  return 0
}
