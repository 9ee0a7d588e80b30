import type { ShadowResult } from './decision.js'
import { doFit } from './fit.js'
import { Fate, verdictOf } from './judge.js'
import { NONE } from './list.js'
import type { Chosen } from './plans.js'
import type { Charge, Reply, Trial } from './store.js'

/** What a call charges, and what is tried on it. A class, since there is one for each call: see `listOf`. */
export class Asked {
  /** To the policies that decide. */
  readonly charges: readonly Charge[]
  /** Of those, the policies whose quota is below the cost: such a call never fits. */
  readonly impossible: readonly string[]
  readonly tried: readonly Tried[]
  /** What a store is asked to try. */
  readonly trials: readonly Trial[]
  /** All charges, whether or not a store need be asked about them. */
  readonly all: readonly Charge[]

  constructor(
    charges: readonly Charge[],
    impossible: readonly string[],
    all: readonly Charge[],
    tried: readonly Tried[] = NONE,
    trials: readonly Trial[] = NONE,
  ) {
    this.charges = charges
    this.impossible = impossible
    this.tried = tried
    this.trials = trials
    this.all = all
  }
}

/** What is tried on a call besides the policies that decide: one shadow, or the candidate. */
interface Tried {
  readonly group: 'shadow' | 'candidate'
  /** Which policy, of a shadow. */
  readonly policy?: string
  readonly charges: readonly Charge[]
  /** Policies whose quota is below the cost: no store need be asked. */
  readonly impossible: readonly string[]
}

/**
 * @param all the charges of all policies chosen, in their order
 * @param dearer those that cost more than is ever granted; those above their quota, where this is not said
 */
export function askedFrom(chosen: Chosen, all: readonly Charge[], dearer?: readonly Charge[]): Asked {
  const { policies } = chosen
  if (policies.length === all.length) {
    const impossible = dearer === undefined ? impossibleOf(all) : dearer.map(({ policy }) => policy.name)
    return new Asked(all, impossible, all)
  }
  const charges = all.slice(0, policies.length)
  const tried = triedOn(chosen, all)
  return new Asked(charges, impossibleOf(charges), all, tried, trialsFor(tried))
}

function triedOn({ policies, shadows, all }: Chosen, charges: readonly Charge[]): readonly Tried[] {
  const tried: Tried[] = []
  const end = policies.length + shadows.length
  for (const charge of charges.slice(policies.length, end))
    tried.push({ group: 'shadow', policy: charge.policy.name, ...chargedWith([charge]) })
  if (end < all.length) tried.push({ group: 'candidate', ...chargedWith(charges.slice(end)) })
  return tried
}

function chargedWith(charges: readonly Charge[]): Pick<Tried, 'charges' | 'impossible'> {
  return { charges, impossible: impossibleOf(charges) }
}

/** The policies that never let a call of this cost pass. */
function impossibleOf(charges: readonly Charge[]): readonly string[] {
  return charges.some(isImpossible) ? charges.filter(isImpossible).map(({ policy }) => policy.name) : NONE
}

function isImpossible({ cost, policy }: Charge): boolean {
  return cost > policy.quota
}

function trialsFor(tried: readonly Tried[]): readonly Trial[] {
  return tried
    .filter(({ impossible }) => impossible.length === 0)
    .map(({ group, charges }) => ({ charges, mode: group === 'shadow' ? 'beside' : 'instead' }))
}

/** Whether a store must be asked even about a call that can never pass: a candidate may have room for it. */
export function asksAnyway({ tried }: Asked): boolean {
  return tried.some(({ group, impossible }) => group === 'candidate' && impossible.length === 0)
}

/** What the tried said. Without a reply only what is known without a store, and nothing of who is blocked. */
export function shadowOf(
  { tried }: Asked,
  reply: Reply | undefined,
  scopeKeys: (scope: string) => Uint8Array,
): readonly ShadowResult[] {
  if (tried.length === 0) return NONE
  const results: ShadowResult[] = []
  if (reply !== undefined && reply.blockedUs > 0) return results
  let nth = 0
  for (const { group, policy, charges, impossible } of tried) {
    const which = policy === undefined ? { group } : { group, policy }
    if (impossible.length > 0) {
      results.push({ ...which, allowed: false, limits: [], violated: impossible })
      continue
    }
    const said = reply?.trials?.[nth]
    nth += 1
    if (reply === undefined || said === undefined) continue
    const fits = doFit(charges, said.readings)
    const { limits, violated, waitUs, delayUs } = verdictOf(
      charges,
      { readings: said.readings, nowUs: reply.nowUs, ...(said.instants && { instants: said.instants }) },
      new Fate(fits && !reply.replayed, said.taken, said.taken && reply.admitted),
      scopeKeys,
    )
    const end = fits ? { delaySeconds: delayUs / 1e6 } : { retryAfterSeconds: waitUs / 1e6 }
    results.push({ ...which, allowed: fits, limits, violated, ...end })
  }
  return results
}
