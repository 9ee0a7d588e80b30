import type { Reading } from '../../algorithm/meter.js'
import { listOf, NONE } from '../../list.js'
import { type BucketOwner, type Change, type Charge, changedReply, type Op, type Reply } from '../../store.js'

/** What of an op belongs to one slot. A class, since there is one for each call at least: see `listOf`. */
export class Part<O extends Op = Op> {
  readonly op: O
  /** Where its charges stand in the whole op. */
  readonly indexes: readonly number[]

  constructor(op: O, indexes: readonly number[]) {
    this.op = op
    this.indexes = indexes
  }
}

class Own {
  readonly indexes = listOf<number[]>()
  readonly changes = listOf<Change[]>()
  readonly blocks = listOf<BucketOwner[]>()
}

type SlotOf = (owner: BucketOwner) => number
export type Consume = Extract<Op, { kind: 'consume' }>
export type Peek = Extract<Op, { kind: 'peek' }>

/** Cuts an op into parts whose keys share a slot. One that is of one slot anyway stays the op that it was. */
export function partsOf<O extends Op>(op: O, slotOf: SlotOf): readonly Part<O>[] {
  const slots = new Map<number, Own>()
  const at = (owner: BucketOwner) => {
    const slot = slotOf(owner)
    const known = slots.get(slot) ?? new Own()
    slots.set(slot, known)
    return known
  }
  const charges: readonly Charge[] = 'charges' in op ? op.charges : NONE
  charges.forEach(({ owner }, index) => void at(owner).indexes.push(index))
  if ('blocks' in op) for (const owner of op.blocks) at(owner).blocks.push(owner)
  if (op.kind === 'adjust') for (const change of op.changes) at(change.owner).changes.push(change)
  const once = 'once' in op ? op.once : undefined
  const home = once && at(once.owner)
  if (slots.size <= 1)
    return listOf(
      new Part(
        op,
        charges.map((_, index) => index),
      ),
    )
  return [...slots.values()].map((own) => {
    const { once: _, ...rest } = { once: undefined, ...op }
    const part = {
      ...rest,
      ...('charges' in op && { charges: own.indexes.map((index) => charges[index]) }),
      ...('blocks' in op && { blocks: own.blocks }),
      ...('changes' in op && { changes: own.changes }),
      ...(own === home && { once }),
    }
    return new Part(part as unknown as O, own.indexes)
  })
}

/** One reply to a check out of those to its parts. */
export function wholeReply(parts: readonly Part[], replies: readonly Reply[]): Reply {
  const readings: Reading[] = []
  const instants: number[] = []
  const healed: number[] = []
  const instances: number[] = []
  for (const [i, { indexes }] of parts.entries())
    for (const [n, index] of indexes.entries()) {
      readings[index] = replies[i]?.readings[n] ?? []
      instants[index] = replies[i]?.nowUs ?? 0
      instances[index] = replies[i]?.instances?.[n] ?? 0
      if (replies[i]?.healed.includes(n)) healed.push(index)
    }
  const blockedUs = Math.max(0, ...replies.map((reply) => reply.blockedUs))
  const replayed = blockedUs === 0 && replies.some((reply) => reply.replayed)
  const admitted = blockedUs === 0 && (replayed || replies.every((reply) => reply.admitted))
  const reply = { nowUs: replies[0]?.nowUs ?? 0, instants, admitted, blockedUs, replayed, readings, healed }
  return replies.some((one) => one.instances !== undefined) ? { ...reply, instances } : reply
}

/** One reply to a change out of those to its parts. */
export function changeReply(replies: readonly Reply[]): Reply {
  return changedReply(
    replies[0]?.nowUs ?? 0,
    replies.some(({ admitted }) => admitted),
  )
}
