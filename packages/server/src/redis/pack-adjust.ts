import { type Change, changedReply, type Op, type Reply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { keyFor, rowOf, unitsIn } from './row.js'

/** The most that a policy may have in use: what is taken after the fact may run up a debt of one quota. */
const MOST_QUOTAS = 2

/** Packs changes of charges into one call of the script `adjust`. */
export function packAdjust(ops: readonly Op[], options: KeyOptions): Call {
  const changes = ops.map((op) => (op.kind === 'adjust' ? op.changes : []))
  const keys = changes.flat().map(({ policy, owner }) => keyFor(policy, owner, options))
  const args = changes.flat().flatMap(argumentsOf)
  return {
    script: 'adjust',
    keys,
    args,
    read(answer) {
      const numbers = numbersIn(answer, 1 + keys.length)
      let at = 1
      return changes.map((own): Reply => {
        const changed = numbers.slice(at, at + own.length)
        at += own.length
        return changedReply(numbers[0] ?? 0, changed.includes(1))
      })
    },
  }
}

function argumentsOf({ policy, units, mark, top }: Change): readonly string[] {
  const most = unitsIn(policy, MOST_QUOTAS * policy.quota)
  return [...rowOf(policy), String(mark), String(unitsIn(policy, units)), String(most), String(top)]
}
