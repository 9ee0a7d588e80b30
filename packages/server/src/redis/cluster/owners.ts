import type { BucketOwner, Op } from '../../store.js'

/** Whose keys an op is about. What is only tried counts where there is nothing else: an op does not come to harm by it. */
export function ownersIn(op: Op): readonly BucketOwner[] {
  switch (op.kind) {
    case 'advance':
      return [op.advance.owner]
    case 'block':
      return op.blocks
    case 'adjust':
      return op.changes.map(({ owner }) => owner)
    case 'reset':
      return [...op.charges.map(({ owner }) => owner), ...(op.once === undefined ? [] : [op.once.owner])]
    case 'consume':
    case 'peek': {
      const { charges, blocks, trials = [] } = op
      const judged = charges.length > 0 ? charges : trials.flatMap((trial) => trial.charges)
      return [
        ...judged.map(({ owner }) => owner),
        ...blocks,
        ...(op.once === undefined ? [] : [op.once.owner]),
      ]
    }
    default:
      return op.charges.map(({ owner }) => owner)
  }
}
