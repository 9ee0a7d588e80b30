import type { Advance, Op, Reply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { aheadKey, keyFor, type RowOf } from './row.js'

/** How many numbers the script answers for an advance. */
const WORDS = 5

/** Packs advances into one call of the script `advance`. */
export function packAdvances(ops: readonly Op[], options: KeyOptions, rowOf: RowOf): Call {
  const advances = ops.flatMap((op) => (op.kind === 'advance' ? [op.advance] : []))
  return {
    script: 'advance',
    keys: advances.flatMap(({ policy, owner }) => [
      keyFor(policy, owner, options),
      aheadKey(policy, owner, options),
    ]),
    args: advances.flatMap((advance) => [...rowOf(advance.policy).words, ...numbersOf(advance)]),
    read(answer) {
      const numbers = numbersIn(answer, 1 + advances.length * WORDS)
      return advances.map((_, i) =>
        replyOf(numbers[0] ?? 0, numbers.slice(1 + i * WORDS, 1 + (i + 1) * WORDS)),
      )
    },
  }
}

function numbersOf({ held, keep, want, share, lastsUs }: Advance): readonly string[] {
  return [held.endsUs, held.units, held.spent, keep ? 1 : 0, want, share, lastsUs].map(String)
}

function replyOf(nowUs: number, reading: readonly number[]): Reply {
  const [given = 0, kept = 0] = reading
  return { nowUs, admitted: given + kept > 0, blockedUs: 0, replayed: false, readings: [reading], healed: [] }
}
