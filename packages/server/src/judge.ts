import { meterOf } from './algorithm/algorithms.js'
import { admission, blocking, refusal } from './decided.js'
import type { Decision, Limit, ShadowResult, Source } from './decision.js'
import { Held, limitOf } from './limit.js'
import { asLongAs, listOf, NONE } from './list.js'
import type { Policy } from './policy.js'
import type { Read } from './receipt.js'
import type { Charge, Reply } from './store.js'

/** What policies that are decided together say of a call. */
export class Verdict<Name extends string = string> {
  readonly limits: readonly Limit<Name>[]
  readonly violated: readonly Name[]
  /** µs until the call fits all of them. */
  readonly waitUs: number
  /** µs for which the call must be held. */
  readonly delayUs: number

  constructor(limits: readonly Limit<Name>[], violated: readonly Name[], waitUs: number, delayUs: number) {
    this.limits = limits
    this.violated = violated
    this.waitUs = waitUs
    this.delayUs = delayUs
  }
}

/** What becomes of charges that are decided together. */
export class Fate {
  /** Whether the call passes them, and for the first time: they may have it held then. */
  readonly passes: boolean
  /** Whether they have been made since the readings; and of places, which a call that does not run never takes. */
  readonly taken: boolean
  readonly placesTaken: boolean

  constructor(passes: boolean, taken: boolean, placesTaken: boolean) {
    this.passes = passes
    this.taken = taken
    this.placesTaken = placesTaken
  }
}

/** Sums up what a store read of policies that are decided together. */
export function verdictOf<Name extends string>(
  charges: readonly Charge[],
  { readings, nowUs, instants }: Read,
  { passes, taken, placesTaken }: Fate,
  scopeKeys: (scope: string) => Uint8Array,
  instances?: readonly number[],
): Verdict<Name> {
  const held = passes ? heldBy(charges, readings, nowUs, instants) : undefined
  let violated: Name[] | undefined
  let waitUs = 0
  let delayUs = 0
  const limits = asLongAs<Limit<Name>>(charges)
  for (let i = 0; i < charges.length; i += 1) {
    const { policy, owner, cost } = charges[i] as Charge
    const key = owner.scope === undefined ? undefined : scopeKeys(owner.scope)
    const said = limitOf(
      policy as Policy<Name>,
      readings[i] ?? NONE,
      cost,
      policy.algorithm === 'concurrency' ? placesTaken : taken,
      instants?.[i] ?? nowUs,
      held?.[i],
      instances?.[i] ?? 0,
      key,
    )
    limits[i] = said.limit
    delayUs = Math.max(delayUs, said.delayUs)
    if (said.limit.allowed) continue
    const name = policy.name as Name
    if (violated === undefined) violated = listOf(name)
    else violated.push(name)
    waitUs = Math.max(waitUs, said.waitUs)
  }
  return new Verdict(limits, violated ?? NONE, waitUs, delayUs)
}

/** Turns what the store read into what the caller sees. */
export function decisionOf<Name extends string>(
  charges: readonly Charge[],
  reply: Reply,
  consumed: boolean,
  shadow: readonly ShadowResult[],
  scopeKeys: (scope: string) => Uint8Array,
  source: Source = 'store',
): Decision<Name> {
  const { admitted, blockedUs, replayed } = reply
  if (blockedUs > 0) return blocking(blockedUs / 1e6, source, shadow)
  const taken = admitted && consumed && !replayed
  const { limits, violated, waitUs, delayUs } = verdictOf<Name>(
    charges,
    reply,
    new Fate(admitted && !replayed, taken, taken),
    scopeKeys,
    reply.instances,
  )
  return admitted
    ? admission(limits, delayUs / 1e6, replayed, source, shadow)
    : refusal(limits, violated, waitUs / 1e6, source, shadow)
}

/** How long each policy has an admitted call held; undefined where none does. */
function heldBy(
  charges: readonly Charge[],
  readings: Reply['readings'],
  nowUs: number,
  instants: readonly number[] | undefined,
): readonly Held[] | undefined {
  if (!charges.some(mayHold)) return undefined
  const own = charges.map(({ policy, cost }, i) =>
    policy.holdUs === undefined
      ? 0
      : (meterOf(policy).heldUs?.(readings[i] ?? NONE, cost, instants?.[i] ?? nowUs, policy) ?? 0),
  )
  const longestUs = Math.max(...own)
  return longestUs > 0 ? own.map((ownUs) => new Held(ownUs, longestUs)) : undefined
}

function mayHold({ policy }: Charge): boolean {
  return policy.holdUs !== undefined
}
