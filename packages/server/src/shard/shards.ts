import type { Decision, Limit } from '../decision.js'
import { expected, expectInteger, expectObject, expectOnly } from '../expect.js'
import { hash64 } from '../hash.js'
import type { Rules } from '../plans.js'
import type { Policy } from '../policy.js'
import type { BucketOwner, Charge, Store } from '../store.js'
import { shardPolicy } from './shard-policy.js'

/** Charges of a call, each on a shard of its partition where that has shards. */
export interface Spread {
  readonly charges: readonly Charge[]
  /** Which shard of each kind of partition. */
  readonly picks: ReadonlyMap<string, number>
}

/** Partitions cut into parts that are counted apart, each with its part of every quota. */
export interface Shards {
  /** Charges on shards taken by chance; for an id always the same, so that a call sent again finds itself. */
  spread(charges: readonly Charge[], id: string | undefined): Spread
  /** The same on other shards, of those kinds whose policies refused; undefined where none of them has shards. */
  elsewhere(charges: readonly Charge[], before: Spread, violated: readonly string[]): Spread | undefined
  /** The charges on all shards. */
  everywhere(charges: readonly Charge[]): readonly Charge[]
  /** The bucket of the whole partition, of which this one is a shard. */
  wholeOf<T extends Pick<Charge, 'policy' | 'owner'>>(bucket: T): T
  /** The owners on all shards. */
  owners(owners: readonly BucketOwner[]): readonly BucketOwner[]
  /** The charges that are dearer than the whole quota of the smallest shard, and so never fit. */
  dearer(charges: readonly Charge[]): readonly Charge[]
  /** A decision in the numbers of the whole partition. */
  whole<D extends Decision>(decision: D, charges: readonly Charge[]): D
}

const MOST = 256
/** A shard with fewer units would be used up by chance long before the others. */
const LEAST_UNITS = 10

/** @throws TypeError or RangeError naming the option, the value and the rule */
export function shardsFrom(
  option: unknown,
  { live, tried }: Pick<Rules, 'live' | 'tried'>,
  store: Store,
  others: { readonly leases: boolean; readonly random: () => number },
): Shards | undefined {
  if (option === undefined) return undefined
  expectObject('shards', option)
  const kinds = [...new Set(live.map(({ by }) => by))]
  expectOnly('shards', option, kinds)
  const counts = new Map<string, number>(Object.entries(option))
  if (counts.size === 0) return undefined
  for (const [kind, count] of counts) expectInteger(`shards.${kind}`, count, 2, MOST)
  if (others.leases) throw new TypeError('shards and leases exclude each other: give the limiter one of them')
  if ('slotBy' in store && store.slotBy !== undefined)
    throw new TypeError(
      'shards and slotBy of the store exclude each other: slotBy keeps on one node what shards spread',
    )
  if (tried.length > 0)
    throw new TypeError(
      'shards exclude shadows and candidates: a call that is refused on one shard asks another',
    )
  for (const policy of live) expectSharded(policy, counts.get(policy.by))
  return createShards(counts, others.random)
}

function expectSharded(policy: Policy, count: number | undefined): void {
  if (count === undefined) return
  if (policy.algorithm === 'concurrency')
    throw new TypeError(`shards cut no bound on concurrency, such as policy "${policy.name}"`)
  if (policy.quota < LEAST_UNITS * count)
    throw new RangeError(
      expected(
        `the quota of policy "${policy.name}"`,
        `at least ${LEAST_UNITS} for each of ${count} shards`,
        policy.quota,
      ),
    )
  shardPolicy(policy, count, count - 1)
}

function createShards(counts: ReadonlyMap<string, number>, random: () => number): Shards {
  const parts = new WeakMap<Policy, readonly Policy[]>()
  const wholes = new WeakMap<Policy, Policy>()

  function partsOf(policy: Policy, count: number): readonly Policy[] {
    const known = parts.get(policy)
    if (known !== undefined) return known
    const made = Array.from({ length: count }, (_, index) => shardPolicy(policy, count, index))
    for (const part of made) wholes.set(part, policy)
    parts.set(policy, made)
    return made
  }

  function place(charge: Charge, index: number): Charge {
    const count = counts.get(charge.policy.by)
    if (count === undefined) return charge
    const policy = partsOf(charge.policy, count)[index] as Policy
    return { ...charge, policy, owner: { ...charge.owner, shard: index } }
  }

  function on(charges: readonly Charge[], picks: ReadonlyMap<string, number>): Spread {
    return { charges: charges.map((charge) => place(charge, picks.get(charge.policy.by) ?? 0)), picks }
  }

  const below = (count: number) => Math.min(count - 1, Math.floor(random() * count))

  return {
    spread(charges, id) {
      const picks = new Map<string, number>()
      for (const [kind, count] of counts)
        picks.set(kind, id === undefined ? below(count) : Number(hash64(id) % BigInt(count)))
      return on(charges, picks)
    },

    elsewhere(charges, { picks }, violated) {
      const moved = new Map(picks)
      for (const { policy } of charges) {
        const count = counts.get(policy.by)
        const index = picks.get(policy.by) ?? 0
        if (count === undefined || !violated.includes(policy.name) || moved.get(policy.by) !== index) continue
        moved.set(policy.by, (index + 1 + below(count - 1)) % count)
      }
      return [...moved].some(([kind, index]) => picks.get(kind) !== index) ? on(charges, moved) : undefined
    },

    everywhere: (charges) =>
      charges.flatMap((charge) => {
        const count = counts.get(charge.policy.by) ?? 1
        return Array.from({ length: count }, (_, index) => place(charge, index))
      }),

    wholeOf(bucket) {
      const policy = wholes.get(bucket.policy)
      if (policy === undefined) return bucket
      const { shard: _, ...owner } = bucket.owner
      return { ...bucket, policy, owner }
    },

    owners: (owners) =>
      owners.flatMap((owner) => {
        const count = counts.get(owner.kind)
        return count === undefined
          ? [owner]
          : Array.from({ length: count }, (_, shard) => ({ ...owner, shard }))
      }),

    dearer: (charges) =>
      charges.filter(({ policy, cost }) => cost > Math.floor(policy.quota / (counts.get(policy.by) ?? 1))),

    whole(decision, charges) {
      if (!('limits' in decision) || decision.limits.length === 0) return decision
      const limits = decision.limits.map((limit, i): Limit => {
        const part = charges[i]?.policy
        const policy = part && wholes.get(part)
        const count = policy && counts.get(policy.by)
        if (policy === undefined || count === undefined) return limit
        return { ...limit, quota: policy.quota, available: Math.min(policy.quota, limit.available * count) }
      })
      return { ...decision, limits }
    },
  }
}
