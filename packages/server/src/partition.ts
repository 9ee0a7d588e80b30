import { show } from './expect.js'
import type { Policy } from './policy.js'
import { short } from './short.js'
import type { BucketOwner } from './store.js'

/** Who shares a quota: a text for the kind `client`, or a record with one text for each kind counted. */
export type Partition<Kind extends string = string> = string extends Kind
  ? string | Readonly<Record<string, string>>
  : ([Kind] extends ['client'] ? string : never) | { readonly [K in Kind]: string }

/** The same, where a value may be missing: what an adapter's `partition` function may return. */
export type PartitionInput<Kind extends string = string> = string extends Kind
  ? string | undefined | Readonly<Record<string, string | undefined>>
  : ([Kind] extends ['client'] ? string | undefined : never) | { readonly [K in Kind]: string | undefined }

/** A call that cannot be counted because it does not say for whom, or names a kind that nothing counts. */
export class PartitionError extends TypeError {
  override readonly name = 'PartitionError' as const
  /** The policy that cannot count. Absent when a kind is not counted by any policy. */
  declare readonly policy?: string
  /** The kind of partition that is missing or unknown. */
  readonly kind: string

  constructor(message: string, kind: string, policy?: string) {
    super(message)
    this.kind = kind
    if (policy !== undefined) this.policy = policy
  }
}

/** Neither a list nor a text in a box, whose characters would be taken for kinds. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof String)
}

/** What a text stands for. A class, since there is one for each call: see `listOf`. */
class ByClient {
  readonly client: string

  constructor(client: string) {
    this.client = client
  }
}

/** The value of each kind, or an error that names the policy and the kind. */
export function valuesOf(
  partition: unknown,
  policies: readonly Policy[],
  kinds: readonly string[],
): Readonly<Record<string, string>> {
  const record = typeof partition === 'string' ? new ByClient(partition) : partition
  if (!isRecord(record)) throw missing('client', policies, partition)
  for (const kind in record)
    if (!kinds.includes(kind) && Object.hasOwn(record, kind)) throw uncounted(kind, kinds)
  for (const policy of policies) {
    const value = Object.hasOwn(record, policy.by)
      ? (record as Record<string, unknown>)[policy.by]
      : undefined
    if (typeof value !== 'string' || value === '') throw missing(policy.by, policies, value)
  }
  return record as Record<string, string>
}

/** The partition with which a store keeps all of a call. @throws PartitionError when the call does not name it */
export function homeOf(
  partition: Readonly<Record<string, unknown>>,
  slotBy: string,
): { readonly kind: string; readonly value: string } {
  const value = Object.hasOwn(partition, slotBy) ? partition[slotBy] : undefined
  if (typeof value !== 'string' || value === '')
    throw new PartitionError(
      `The store keeps calls by ${show(slotBy)}: expected partition.${slotBy} to be a text that is not empty, got ${show(value)}`,
      slotBy,
    )
  return { kind: slotBy, value }
}

/** The kinds that a block names, each with its value; at least one. */
function namedValues(
  partition: unknown,
  kinds: readonly string[],
): readonly (readonly [kind: string, value: string])[] {
  const record = typeof partition === 'string' ? { client: partition } : partition
  if (!isRecord(record))
    throw new PartitionError(
      `Expected a partition to be a text or a record of texts, got ${show(record)}`,
      'client',
    )
  const named = Object.entries(record as Record<string, unknown>)
  for (const [kind, value] of named) {
    if (!kinds.includes(kind)) throw uncounted(kind, kinds)
    if (typeof value !== 'string' || value === '')
      throw new PartitionError(
        `Expected partition.${kind} to be a text that is not empty, got ${show(value)}`,
        kind,
      )
  }
  if (named.length === 0)
    throw new PartitionError('Expected a partition to name at least one kind, got none', 'client')
  return (named as [string, string][]).map(([kind, value]) => [kind, short(value)])
}

/** Whom a block is about. What is kept at a home is blocked there; the home itself only where nothing else is named. */
export function ownersNamed(
  partition: unknown,
  kinds: readonly string[],
  slotBy: string | undefined,
): readonly BucketOwner[] {
  const named = namedValues(partition, kinds)
  if (slotBy === undefined) return named.map(([kind, value]) => ({ kind, value }))
  const home = homeOf(Object.fromEntries(named), slotBy)
  const others = named.filter(([kind]) => kind !== slotBy)
  return (others.length > 0 ? others : named).map(([kind, value]) => ({ kind, value, home }))
}

function uncounted(kind: string, kinds: readonly string[]): PartitionError {
  return new PartitionError(
    `No policy counts partitions of kind ${show(kind)}; the policies count ${kinds.map(show).join(', ')}`,
    kind,
  )
}

export function kindsOf(policies: readonly Policy[]): readonly string[] {
  return [...new Set(policies.map((policy) => policy.by))]
}

function missing(kind: string, policies: readonly Policy[], got: unknown): PartitionError {
  const policy = policies.find(({ by }) => by === kind) ?? policies[0]
  const by = policy?.by ?? kind
  return new PartitionError(
    `Policy "${policy?.name}" counts by ${show(by)}: expected partition.${by} to be a text that is not empty, got ${show(got)}`,
    by,
    policy?.name,
  )
}
