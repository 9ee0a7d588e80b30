import type { Change, Op } from '../store.js'
import { repliesIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { keyFor, type RowOf, unitsIn } from './row.js'

/** Packs changes of charges into one call of the script `adjust`. */
export function packAdjust(ops: readonly Op[], options: KeyOptions, rowOf: RowOf): Call {
  const changes = ops.map((op) => (op.kind === 'adjust' ? op.changes : []))
  const keys = changes.flat().map(({ policy, owner }) => keyFor(policy, owner, options))
  const args = changes.flat().flatMap((change) => argumentsOf(change, rowOf))
  return {
    script: 'adjust',
    keys,
    args,
    read: (answer) =>
      repliesIn(
        answer,
        changes.map(({ length }) => length),
      ),
  }
}

function argumentsOf({ policy, units, mark, top }: Change, rowOf: RowOf): readonly string[] {
  return [...rowOf(policy).words, String(mark), String(unitsIn(policy, units)), String(top)]
}
