import { type Charge, changedReply, type Op } from '../store.js'
import { numbersIn, repliesIn } from './answer.js'
import type { KeyOptions } from './key.js'
import type { Call } from './pack.js'
import { aheadKey, blockKey, hasOwnKey, keyFor, onceKey, policyId } from './row.js'

const chargesOf = (op: Op): readonly Charge[] => ('charges' in op ? op.charges : [])

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
    read: (answer) =>
      repliesIn(
        answer,
        ops.map((op) => chargesOf(op).length),
      ),
  }
}

/** Packs resets into one call of the script `reset`. */
export function packResets(ops: readonly Op[], options: KeyOptions): Call {
  const ids = new Map<string, string[]>()
  for (const { policy, owner } of ops.flatMap(chargesOf)) {
    const key = keyFor(policy, owner, options)
    ids.set(key, [...(ids.get(key) ?? []), hasOwnKey(policy) ? '0' : String(policyId(policy))])
    if (policy.algorithm === 'token-bucket') ids.set(aheadKey(policy, owner, options), ['0'])
  }
  for (const op of ops)
    if (op.kind === 'reset' && op.once !== undefined)
      ids.set(onceKey(op.once.owner, op.once.id, options), ['0'])
  return {
    script: 'reset',
    keys: [...ids.keys()],
    args: [...ids.values()].flatMap((own) => [String(own.length), ...own]),
    read: (answer) => ops.map(() => changedReply(Number(answer), true)),
  }
}

/** Packs one begin or end of blocks into a call of the script `block`. */
export function packBlock(ops: readonly Op[], options: KeyOptions): Call {
  const [op] = ops
  const { blocks, ms } = op?.kind === 'block' ? op : { blocks: [], ms: 'none' as const }
  const lasts = ms === 'none' ? '0' : ms === 'forever' ? ms : String(Math.round(ms * 1000))
  return {
    script: 'block',
    keys: blocks.map((owner) => blockKey(owner, options)),
    args: [lasts],
    read(answer) {
      const [nowUs = 0, ...before] = numbersIn(answer, 1 + blocks.length)
      return [changedReply(nowUs, before.includes(1))]
    },
  }
}
