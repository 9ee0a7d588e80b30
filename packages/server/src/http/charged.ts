import type { Decision } from '../decision.js'
import type { Limiter } from '../limiter.js'

/** What a limiter has charged for a request. */
export interface Charged {
  readonly limiter: Limiter
  readonly decision: Decision
  /** Never rejects. */
  giveBack(): Promise<void>
}

interface Marked {
  [CHARGES]?: Charged[]
}

const CHARGES = Symbol('ratepact: charged for this request')

/** What has been charged for a request so far, by the limiters before this one. */
export function chargedFor(shared: object): readonly Charged[] {
  return (shared as Marked)[CHARGES] ?? []
}

/** Notes what a limiter has charged for a request, for the case that one after it refuses. */
export function noteCharged(shared: object, charged: Charged): void {
  const request = shared as Marked
  const charges = request[CHARGES]
  if (charges === undefined) request[CHARGES] = [charged]
  else charges.push(charged)
}

/** Gives back what the limiters before this one have charged for a request. Nobody waits for it. */
export function giveBackEarlier(shared: object): void {
  for (const charged of (shared as Marked)[CHARGES]?.splice(0) ?? []) void charged.giveBack()
}

/** Notes that nothing comes after a limiter any more, of a request that may yet be answered again. */
export function forgetCharged(shared: object, decision: Decision): void {
  const request = shared as Marked
  request[CHARGES] = chargedFor(request).filter((charged) => charged.decision !== decision)
}
