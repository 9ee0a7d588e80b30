import type { ServiceLimit } from '@ratepact/contract'
import type { Limit } from './limit.js'
import { never } from './quota.js'
import { statedMs } from './stated.js'
import type { Statement } from './statements.js'

/** The limits that one answer speaks of, with what it says of each. */
export type Told = ReadonlyMap<Limit, Statement>

/** What a refusal says of a limit that it is about. */
export interface Refusal {
  readonly limit: ServiceLimit | undefined
  readonly waitMs: number | undefined
  /** Whether its wait is the server's word on when to ask, over what the limit would wait for. */
  readonly overrides: boolean
}

/** The limits that refused: those with nothing left, else all stated, else all that hold the call. */
export function refusing(told: Told, holding: readonly Limit[]): readonly Limit[] {
  const stated = [...told.keys()]
  const empty = stated.filter((limit) => told.get(limit)?.limit?.available === 0)
  if (empty.length > 0) return empty
  return stated.length > 0 ? stated : holding
}

/** With a `Retry-After`, if there is one, which says more exactly than the limit how long that one has nothing. */
export function refusalBy({ limit, policy }: Partial<Statement>, retryAfterMs: number | undefined): Refusal {
  const emptyMs = limit === undefined || limit.available > 0 ? 0 : statedMs(limit)
  const saysWhen = emptyMs > 0
  if (retryAfterMs === undefined) return { limit, waitMs: saysWhen ? emptyMs : undefined, overrides: false }
  // With nothing left and no time stated of it, a `Retry-After` shorter than the policy's window is all but a guess:
  // then that counts too.
  const windowMs = (policy?.windowSeconds ?? never) * 1000
  return {
    limit: limit && saysWhen ? { ...limit, effectiveWindowMs: retryAfterMs } : limit,
    waitMs: retryAfterMs,
    overrides: saysWhen || limit?.available !== 0 || retryAfterMs >= windowMs,
  }
}
