import { asStoreError, neverRun, StoreError } from '../../failure/store-error.js'
import type { BucketOwner, Op, Reply } from '../../store.js'
import type { Batch } from '../batch.js'
import { type Consume, changeReply, type Part, type Peek, partsOf, wholeReply } from './parts.js'
import { createUndo, type Undo } from './undo.js'

/** Carries out ops whose keys lie in several slots, of which no script can see all at once. */
export interface Apart {
  add(op: Op, deadlineMs: number): Promise<Reply>
  withdraw(op: Op): StoreError | undefined
}

/** An op that is under way in parts. */
interface Trip {
  /** What of it has been asked and not answered. */
  readonly pending: Set<Op>
  /** Whether it has begun to charge. */
  charging: boolean
  withdrawn: boolean
  send(op: Op): Promise<Reply>
}

const LATE = 'Redis did not answer in time'

/**
 * A check looks at all of its slots together first, and a refusal anywhere is the answer: nothing is charged. Then each
 * is charged; where somebody else was quicker, or a trip fails, what was charged elsewhere is given back. So a decision
 * is never more than what each of its buckets allows; between the two rounds others may be refused for units that are
 * given back right after. An id is kept with the first charge, which is made last: it is remembered when all is charged.
 */
export function createApart(batch: Batch, slotOf: (owner: BucketOwner) => number): Apart {
  const trips = new Map<Op, Trip>()
  const send = (op: Op, deadlineMs: number) => batch.add(op, deadlineMs, (reply) => reply)
  const undo = createUndo(send)

  function tripOf(deadlineMs: number): Trip {
    const pending = new Set<Op>()
    return {
      pending,
      charging: false,
      withdrawn: false,
      async send(op) {
        pending.add(op)
        try {
          return await send(op, deadlineMs)
        } finally {
          pending.delete(op)
        }
      },
    }
  }

  async function goAll(op: Op, parts: readonly Part[], trip: Trip): Promise<Reply> {
    if (op.kind === 'consume') return consumeApart(parts as readonly Part<Consume>[], trip, undo)
    const replies = await Promise.all(parts.map((part) => trip.send(part.op)))
    return op.kind === 'peek' ? wholeReply(parts, replies) : changeReply(replies)
  }

  return {
    async add(op, deadlineMs) {
      const parts = partsOf(op, slotOf)
      if (parts.length === 1) return send(op, deadlineMs)
      const trip = tripOf(deadlineMs)
      trips.set(op, trip)
      try {
        return await goAll(op, parts, trip)
      } finally {
        trips.delete(op)
      }
    },
    withdraw(op) {
      const trip = trips.get(op)
      if (trip === undefined) return batch.withdraw(op)
      trip.withdrawn = true
      for (const part of trip.pending) batch.withdraw(part)
      const charges = trip.charging || op.kind !== 'consume'
      return charges ? undefined : new StoreError('timeout', LATE, { mayHaveRun: false })
    },
  }
}

async function consumeApart(parts: readonly Part<Consume>[], trip: Trip, undo: Undo): Promise<Reply> {
  const replies = await look(parts, trip)
  const looked = wholeReply(parts, replies)
  if (!looked.admitted) return looked
  if (trip.withdrawn) throw new StoreError('timeout', LATE, { mayHaveRun: false })
  trip.charging = true
  const charged = new Map<Part<Consume>, Reply>()
  let over = false

  async function charge(part: Part<Consume>): Promise<void> {
    try {
      const reply = await trip.send(part.op)
      replies[parts.indexOf(part)] = reply
      if (!reply.admitted || reply.replayed) return
      if (over) void undo.charge(part.op, reply)
      else charged.set(part, reply)
    } catch (error) {
      // It may have been remembered, of a call that was not charged as a whole; what was remembered before stays.
      if (!looked.replayed) void undo.memory(part.op)
      throw error
    }
  }

  async function giveUp(): Promise<void> {
    over = true
    await Promise.all([...charged].map(([{ op }, reply]) => undo.charge(op, reply)))
  }

  try {
    for (const round of roundsOf(parts, looked)) {
      await Promise.all(round.map(charge))
      const said = wholeReply(parts, replies)
      if (said.admitted && !said.replayed) continue
      // Who is told that nothing was charged must find it so.
      await giveUp()
      return said
    }
  } catch (error) {
    void giveUp()
    throw error
  }
  return wholeReply(parts, replies)
}

async function look(parts: readonly Part<Consume>[], trip: Trip): Promise<Reply[]> {
  try {
    return await Promise.all(parts.map(({ op }) => trip.send(peekOf(op))))
  } catch (error) {
    throw neverRun(asStoreError(error))
  }
}

function peekOf({ charges, blocks, once, crowd }: Consume): Peek {
  return { kind: 'peek', charges, blocks, ...(once && { once }), ...(crowd && { crowd }) }
}

/** The part that remembers an id comes last, but first where it is remembered already and only counts the repeat. */
function roundsOf(
  parts: readonly Part<Consume>[],
  { replayed }: Reply,
): readonly (readonly Part<Consume>[])[] {
  const keeper = parts.filter(({ op }) => op.once !== undefined)
  const others = parts.filter(({ op }) => op.once === undefined)
  return replayed ? [keeper, others] : [others, keeper]
}
