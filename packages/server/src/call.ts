import { type Cost, costOf, expectCost } from './cost.js'
import { expected, expectObject, expectOnly } from './expect.js'
import { expectOnStoreFailure, type OnStoreFailure } from './failure/mode.js'
import { hash48 } from './hash.js'
import { homeOf, valuesOf } from './partition.js'
import type { Chosen } from './plans.js'
import type { Policy } from './policy.js'
import { short, shortValues } from './short.js'
import type { BucketOwner, Charge, Op } from './store.js'
import type { Asked } from './trial.js'

export interface ConsumeOptions<Name extends string = string, Plan extends string = string> {
  /** @default 1 for every policy counted in requests */
  readonly cost?: Cost<Name>
  /** What is called, for policies that count per scope. @default '' */
  readonly scope?: string
  /** By which plan the call is judged: its name, or a function that finds it out within the deadline. */
  readonly plan?: Plan | (() => Plan) | (() => Promise<Plan>)
  /**
   * Makes a call that is sent again count once: an admission is remembered by partition, scope, cost and id, and
   * repeated up to 3 times, until all that it charged or its places have been given back. Refusals are not remembered,
   * and `reset` does not forget ids. 1 to 256 characters.
   */
  readonly id?: string
  /**
   * Which client process calls, for a limiter that counts them: a text that each chooses by chance when it starts. 1 to
   * 256 characters. It changes what is stated, never what is granted.
   */
  readonly instance?: string
  /** Overrides the limiter's own for this call. */
  readonly onStoreFailure?: OnStoreFailure
}

export interface ResetOptions<Plan extends string = string> {
  readonly scope?: string
  /** Forgets what the policies of this plan count. @default those of all plans */
  readonly plan?: Plan
}

/** Of a call that says nothing but for whom it is. */
export const NO_OPTIONS: ConsumeOptions = Object.freeze({})

const OPTIONS = ['cost', 'scope', 'plan', 'id', 'instance', 'onStoreFailure']

/** What a call charges, policy by policy. @throws PartitionError when it does not say for whom, or at whose home */
export function chargesOf(
  partition: unknown,
  { scope: called = '', cost }: ConsumeOptions,
  policies: readonly Policy[],
  kinds: readonly string[],
  slotBy: string | undefined,
): readonly Charge[] {
  const values = shortValues(valuesOf(partition, policies, kinds), kinds)
  const scope = short(called)
  const home = slotBy === undefined ? undefined : homeOf(values, slotBy)
  return policies.map((policy) => {
    const kind = policy.by
    const value = values[kind] as string
    const own = policy.perScope ? { kind, value, scope } : { kind, value }
    return { policy, owner: home === undefined ? own : { ...own, home }, cost: costOf(cost, policy) }
  })
}

/** An op that is answered with a decision. */
export type Check = Extract<Op, { kind: 'consume' | 'peek' }>

/** A call that is what it must be, and by what it is judged. */
export interface Case {
  readonly kind: Check['kind']
  readonly partition: unknown
  readonly call: ConsumeOptions
  readonly mode: OnStoreFailure
  readonly chosen: Chosen
  readonly sentMs: number
}

/** The op that a call comes to. */
export function opFor(
  kind: 'consume' | 'peek',
  asked: Pick<Asked, 'charges' | 'trials' | 'all'>,
  call: ConsumeOptions,
  settings: { readonly blocks: boolean; readonly idMs: number; readonly countInstances: boolean },
): Check {
  const op = withoutCrowd(kind, asked, call, settings)
  if (!settings.countInstances) return op
  const { instance } = call
  return { ...op, crowd: { instance: instance === undefined ? 0 : hash48(instance) } }
}

function withoutCrowd(
  kind: 'consume' | 'peek',
  { charges, trials, all }: Pick<Asked, 'charges' | 'trials' | 'all'>,
  { id, scope = '' }: ConsumeOptions,
  { blocks, idMs }: { readonly blocks: boolean; readonly idMs: number },
): Check {
  const asked: Pick<Check, 'charges' | 'blocks' | 'trials'> =
    trials.length === 0
      ? { charges, blocks: blocks ? ownersIn(all) : [] }
      : { charges, blocks: blocks ? ownersIn(all) : [], trials }
  const [first] = all
  const once =
    id === undefined || first === undefined
      ? undefined
      : { owner: { ...first.owner, scope: short(scope) }, id: idOf(id, charges), ms: idMs }
  if (kind === 'peek') return { kind, ...asked, ...(once && { once }) }
  const places = all.some(({ policy }) => policy.algorithm === 'concurrency')
  const lease = places ? crypto.randomUUID() : ''
  return once === undefined ? { kind, ...asked, lease } : { kind, ...asked, lease, once }
}

/**
 * What an admission is remembered by: the id together with all that it charged, so that it stands for no call of
 * another partition, of another limiter or of another cost. Lengths go before what callers choose.
 */
function idOf(id: string, charges: readonly Charge[]): string {
  const charged = charges.map(
    ({ policy, owner: { kind, value }, cost }) =>
      `${policy.name} ${policy.algorithm} ${cost} ${kind} ${value.length}:${value}`,
  )
  return `${id.length}:${id} ${charged.join(' ')}`
}

/** Each kind of partition of a call, once and without its scope. */
function ownersIn(charges: readonly Charge[]): readonly BucketOwner[] {
  const owners = new Map<string, BucketOwner>()
  for (const { owner } of charges) {
    const { scope: _, ...whole } = owner
    owners.set(owner.kind, whole)
  }
  return [...owners.values()]
}

/** @throws TypeError or RangeError naming the option, the value and the rule */
export function expectCall(call: ConsumeOptions, policies: readonly Policy[], counts: boolean): void {
  if (call === NO_OPTIONS) return
  expectObject('the options of the call', call)
  expectOnly('a call', call, OPTIONS)
  const { scope, id, instance, onStoreFailure } = call
  if (scope !== undefined && typeof scope !== 'string')
    throw new TypeError(expected('scope', 'a text', scope))
  if (id !== undefined && !(typeof id === 'string' && id.length >= 1 && id.length <= 256))
    throw new TypeError(expected('id', 'a text of 1 to 256 characters', id))
  if (instance !== undefined) expectInstance(instance, counts)
  if (onStoreFailure !== undefined) expectOnStoreFailure(onStoreFailure)
  expectCost(call.cost, policies)
}

function expectInstance(instance: unknown, counts: boolean): void {
  if (typeof instance !== 'string' || instance === '' || instance.length > 256)
    throw new TypeError(expected('instance', 'a text of 1 to 256 characters', instance))
  if (!counts)
    throw new TypeError('This limiter counts no instances: give createLimiter countInstances: true')
}
