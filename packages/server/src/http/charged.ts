import type { Admitted, Decision } from '../decision.js'
import type { Limiter } from '../limiter.js'
import { listOf } from '../list.js'
import type { Attempt } from './attempt.js'
import { marksOf } from './marks.js'

/** What a limiter has charged for a request. A class, since there is one for each: see `listOf`. */
export class Charged {
  readonly limiter: Limiter
  readonly decision: Admitted
  /** What gives it back. */
  readonly attempt: Attempt

  constructor(limiter: Limiter, decision: Admitted, attempt: Attempt) {
    this.limiter = limiter
    this.decision = decision
    this.attempt = attempt
  }
}

/**
 * Notes what a limiter has charged for a request, for the case that one after it refuses.
 * @param others told of what the limiters before this one have charged, where there are such
 */
export function noteCharged(
  shared: object,
  charged: Charged,
  others: (earlier: readonly Charged[]) => void,
): void {
  const marks = marksOf(shared)
  if (marks.charges === undefined) {
    marks.charges = listOf(charged)
    return
  }
  others(marks.charges)
  marks.charges.push(charged)
}

/**
 * Gives back what the limiters before this one have charged for a request. Nobody waits for it.
 * @param own what gives back for this limiter, where several calls may share the request: then what is whose cannot be
 * told once one limiter has charged for two of them, and all stays charged
 */
export function giveBackEarlier(shared: object, own?: Attempt): void {
  const { charges = [] } = marksOf(shared)
  if (own !== undefined) {
    const limiters = new Set(charges.map(({ attempt }) => attempt))
    if (limiters.has(own) || limiters.size < charges.length) return
  }
  for (const charged of charges.splice(0)) void charged.attempt('refund', charged.decision)
}

/** Notes that nothing comes after a limiter any more, of a request that may yet be answered again. */
export function forgetCharged(shared: object, decision: Decision): void {
  const marks = marksOf(shared)
  marks.charges = marks.charges?.filter((charged) => charged.decision !== decision)
}
