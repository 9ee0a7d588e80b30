import { roomOf } from '../algorithm/bucket.js'
import { mostInUse } from '../algorithm/debt.js'
import { hash64 } from '../hash.js'
import { heldTicks } from '../hold.js'
import { keptName, type Policy } from '../policy.js'
import type { BucketOwner } from '../store.js'
import { digest, type KeyOptions, keyOf } from './key.js'

/** How many arguments a policy takes. */
export const ROW = 7

/** A policy as the scripts take it. */
export interface Row {
  /** Id, kind, three numbers, a fourth, the most that may be in use. */
  readonly words: readonly string[]
  /** Of a bucket: its id and its first three numbers. */
  readonly short: readonly string[]
  /** Of a bucket: whether these tell the others, which they mostly do. */
  readonly plain: boolean
}

export type RowOf = (policy: Policy) => Row

/** Makes rows, each once: policies do not change, and are asked about with every check. */
export function createRows(): RowOf {
  const rows = new WeakMap<Policy, Row>()
  return (policy) => {
    const known = rows.get(policy)
    if (known !== undefined) return known
    const row = rowFor([String(policyId(policy)), ...numbersOf(policy), String(mostKept(policy))])
    rows.set(policy, row)
    return row
  }
}

function rowFor(words: readonly string[]): Row {
  const [id = '', , unit = '', rate = '', most = '', queue, bound] = words
  const usual = mostInUse(Number(most), Number(most))
  return { words, short: [id, unit, rate, most], plain: queue === most && Number(bound) === usual }
}

function numbersOf(policy: Policy): readonly string[] {
  switch (policy.algorithm) {
    case 'token-bucket':
    case 'leaky-bucket': {
      const { unit, rate } = policy.ticks
      return words('bucket', unit, rate, roomOf(policy), policy.queueTicks + heldTicks(policy))
    }
    case 'fixed-window':
      return words(
        'window',
        policy.windowUs,
        policy.anchor === 'epoch' ? 0 : 1,
        policy.quota,
        policy.holdUs ?? 0,
      )
    case 'sliding-window-counter':
      return words('counter', policy.windowUs, 0, policy.quota, 0)
    case 'sliding-window-log':
      return words('log', policy.windowUs, 0, policy.quota, 0)
    case 'concurrency':
      return words('lease', policy.leaseUs, 0, policy.quota, 0)
  }
}

function words(kind: string, ...numbers: readonly number[]): readonly string[] {
  return [kind, ...numbers.map(String)]
}

/** How many numbers the script answers for a policy. */
export function wordsOf({ algorithm }: Policy): number {
  if (algorithm === 'fixed-window') return 3
  return algorithm === 'sliding-window-counter' || algorithm === 'sliding-window-log' ? 4 : 1
}

/** Which entry of a record is a policy's: 48 bits of a hash of its name and algorithm. */
export function policyId(policy: Policy): number {
  return Number(hash64(`${keptName(policy)} ${policy.algorithm}`) & 0xffffffffffffn)
}

/** The most ticks or units that may be in use by what is taken after the fact. */
function mostKept(policy: Policy): number {
  if ('ticks' in policy) return mostInUse(roomOf(policy), policy.maxDebt * policy.ticks.unit)
  return mostInUse(policy.quota, 'maxDebt' in policy ? policy.maxDebt : 0)
}

/** What units are called where they are kept: ticks in a bucket, themselves elsewhere. */
export function unitsIn(policy: Policy, units: number): number {
  return 'ticks' in policy ? units * policy.ticks.unit : units
}

/** Whether a policy is kept under a key of its own, and not in the record of its partition. */
export function hasOwnKey({ algorithm }: Policy): boolean {
  return algorithm === 'sliding-window-log' || algorithm === 'concurrency'
}

/**
 * Where a policy keeps what it counts for an owner. A bar is nowhere in a record's key, so the two never meet; the
 * algorithm is in it, so that neither do two policies of one name.
 */
export function keyFor(policy: Policy, owner: BucketOwner, options: KeyOptions): string {
  const key = keyOf(owner, options)
  if (policy.algorithm === 'sliding-window-log') return `${key}|log:${keptName(policy)}`
  return policy.algorithm === 'concurrency' ? `${key}|lease:${keptName(policy)}` : key
}

/** Where what is kept of units taken ahead of a bucket stands, beside its level. */
export function aheadKey(policy: Policy, owner: BucketOwner, options: KeyOptions): string {
  return `${keyOf(owner, options)}|ahead:${keptName(policy)}`
}

/** Where the block of a partition is kept. */
export function blockKey({ scope: _, ...owner }: BucketOwner, options: KeyOptions): string {
  return `${keyOf(owner, options)}|!`
}

/** Where the client processes are remembered that share what is counted for an owner. */
export function crowdKey(owner: BucketOwner, options: KeyOptions): string {
  return `${keyOf(owner, options)}|n`
}

/** Where an admission is remembered: by a digest, for it is told by whom it was charged to. */
export function onceKey(owner: BucketOwner, id: string, options: KeyOptions): string {
  return `${keyOf(owner, options)}|id:${digest(id)}`
}
