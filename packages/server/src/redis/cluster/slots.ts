import type { BucketOwner, Op } from '../../store.js'
import { type KeyOptions, tagOf } from '../key.js'
import { ownersIn } from './owners.js'
import { slotOf } from './slot.js'

/** Which slots the keys of owners and ops are in. */
export interface Slots {
  ofOwner(owner: BucketOwner): number
  /** The slot of an op whose keys share one. */
  ofOp(op: Op): number
  /** Those of an op whose keys may be anywhere. */
  allOf(op: Op): readonly number[]
}

export function createSlots(keys: KeyOptions): Slots {
  const ofOwner = (owner: BucketOwner) => slotOf(tagOf(owner, keys))
  return {
    ofOwner,
    allOf: (op) => ownersIn(op).map(ofOwner),
    ofOp(op) {
      const first = firstOwner(op)
      return first === undefined ? 0 : ofOwner(first)
    },
  }
}

function firstOwner(op: Op): BucketOwner | undefined {
  switch (op.kind) {
    case 'advance':
      return op.advance.owner
    case 'block':
      return op.blocks[0]
    case 'adjust':
      return op.changes[0]?.owner
    case 'reset':
      return op.charges[0]?.owner ?? op.once?.owner
    case 'consume':
    case 'peek':
      return (op.charges[0] ?? op.trials?.[0]?.charges[0] ?? op.once)?.owner ?? op.blocks[0]
    default:
      return op.charges[0]?.owner
  }
}
