import { changesTo, heldBy, Receipt } from '../../receipt.js'
import type { Op, Reply } from '../../store.js'
import type { Consume } from './parts.js'

/** Takes back what a decision did before it came to nothing. As well as can be: it never rejects. */
export interface Undo {
  /** What a part was charged, and the memory of it. */
  charge(op: Consume, reply: Reply): Promise<void>
  /** That the part was admitted. */
  memory(op: Consume): Promise<void>
}

/** It goes out at once, or when there is a connection again, but not for longer than this. */
const WITHIN_MS = 2000

export function createUndo(send: (op: Op, deadlineMs: number) => Promise<Reply>): Undo {
  async function attempt(op: Op): Promise<void> {
    try {
      await send(op, WITHIN_MS)
    } catch {}
  }

  async function memory({ once }: Consume): Promise<void> {
    if (once !== undefined) await attempt({ kind: 'reset', charges: [], once })
  }

  return {
    memory,
    async charge(op, reply) {
      const receipt = new Receipt(op.charges, reply, op.lease)
      const nothing = op.charges.map(() => 0)
      const { changes } = changesTo(receipt, nothing)
      const held = heldBy(receipt)
      await Promise.all([
        changes.length > 0 && attempt({ kind: 'adjust', changes }),
        held.length > 0 && attempt({ kind: 'release', charges: held, lease: op.lease }),
        memory(op),
      ])
    },
  }
}
