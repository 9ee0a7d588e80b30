import type { Charge, Op, Reply } from '../store.js'
import { numbersIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { hasOwnKey, keyFor, policyId } from './row.js'

const chargesOf = (op: Op): readonly Charge[] => (op.kind === 'adjust' ? [] : op.charges)

/** Packs ends and renewals of leases into one call of the script `lease`. */
export function packLeases(ops: readonly Op[], options: KeyOptions): Call {
  const keys: string[] = []
  const args: string[] = []
  for (const op of ops)
    for (const { policy, owner, cost } of chargesOf(op)) {
      if (policy.algorithm !== 'concurrency' || (op.kind !== 'release' && op.kind !== 'renew')) continue
      keys.push(keyFor(policy, owner, options))
      args.push(op.kind, op.lease, String(cost), String(policy.leaseUs))
    }
  return {
    script: 'lease',
    keys,
    args,
    read(answer) {
      const numbers = numbersIn(answer, 1 + keys.length)
      let at = 1
      return ops.map((op): Reply => {
        const found = numbers.slice(at, at + chargesOf(op).length)
        at += found.length
        return { nowUs: numbers[0] ?? 0, admitted: found.includes(1), readings: [], healed: [] }
      })
    },
  }
}

/** Packs resets into one call of the script `reset`. */
export function packResets(ops: readonly Op[], options: KeyOptions): Call {
  const ids = new Map<string, string[]>()
  for (const { policy, owner } of ops.flatMap(chargesOf)) {
    const key = keyFor(policy, owner, options)
    ids.set(key, [...(ids.get(key) ?? []), hasOwnKey(policy) ? '0' : String(policyId(policy))])
  }
  return {
    script: 'reset',
    keys: [...ids.keys()],
    args: [...ids.values()].flatMap((own) => [String(own.length), ...own]),
    read: (answer) => ops.map(() => ({ nowUs: Number(answer), admitted: true, readings: [], healed: [] })),
  }
}
