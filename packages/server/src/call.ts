import { type Cost, costOf, expectCost } from './cost.js'
import { expected, expectObject, expectOnly } from './expect.js'
import { expectOnStoreFailure, type OnStoreFailure } from './failure/mode.js'
import { hash48 } from './hash.js'
import { asLongAs, NONE } from './list.js'
import { Consume, Peek } from './op.js'
import { homeOf, valuesOf } from './partition.js'
import type { Chosen } from './plans.js'
import type { Policy } from './policy.js'
import { short, shortValues } from './short.js'
import type { BucketOwner, Charge, Crowd, Op } from './store.js'
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
  const charges = asLongAs<Charge>(policies)
  for (let i = 0; i < policies.length; i += 1) {
    const policy = policies[i] as Policy
    const owner = new Owner(policy.by, values[policy.by] as string)
    if (policy.perScope) owner.scope = scope
    if (home !== undefined) owner.home = home
    charges[i] = new ChargeTo(policy, owner, costOf(cost, policy))
  }
  return charges
}

/** An op that is answered with a decision. */
export type Check = Extract<Op, { kind: 'consume' | 'peek' }>

// Classes, since there is one of each for each call: see `listOf`.

class Owner implements BucketOwner {
  readonly kind: string
  readonly value: string
  declare scope?: string
  declare home?: { readonly kind: string; readonly value: string }

  constructor(kind: string, value: string) {
    this.kind = kind
    this.value = value
  }
}

class ChargeTo implements Charge {
  readonly policy: Policy
  readonly owner: BucketOwner
  readonly cost: number

  constructor(policy: Policy, owner: BucketOwner, cost: number) {
    this.policy = policy
    this.owner = owner
    this.cost = cost
  }
}

/** A call that is what it must be, and by what it is judged. */
export class Case {
  readonly kind: Check['kind']
  readonly partition: unknown
  readonly call: ConsumeOptions
  readonly mode: OnStoreFailure
  readonly chosen: Chosen
  readonly sentMs: number

  constructor(
    kind: Check['kind'],
    partition: unknown,
    call: ConsumeOptions,
    mode: OnStoreFailure,
    chosen: Chosen,
    sentMs: number,
  ) {
    this.kind = kind
    this.partition = partition
    this.call = call
    this.mode = mode
    this.chosen = chosen
    this.sentMs = sentMs
  }
}

/** The op that a call comes to. */
export function opFor(
  kind: 'consume' | 'peek',
  { charges, trials, all }: Pick<Asked, 'charges' | 'trials' | 'all'>,
  { id, scope = '', instance }: ConsumeOptions,
  settings: { readonly blocks: boolean; readonly idMs: number; readonly countInstances: boolean },
): Check {
  const blocks = settings.blocks ? ownersIn(all) : NONE
  const op = kind === 'peek' ? new Peek(charges, blocks) : new Consume(charges, blocks, leaseFor(all))
  if (trials.length > 0) op.trials = trials
  const [first] = all
  if (id !== undefined && first !== undefined)
    op.once = { owner: { ...first.owner, scope: short(scope) }, id: idOf(id, charges), ms: settings.idMs }
  if (settings.countInstances) op.crowd = new CrowdOf(instance === undefined ? 0 : hash48(instance))
  return op
}

class CrowdOf implements Crowd {
  readonly instance: number

  constructor(instance: number) {
    this.instance = instance
  }
}

/** A name for the places that a call takes; none where it takes none. */
function leaseFor(charges: readonly Charge[]): string {
  return charges.some(holdsPlace) ? crypto.randomUUID() : ''
}

function holdsPlace({ policy }: Charge): boolean {
  return policy.algorithm === 'concurrency'
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
