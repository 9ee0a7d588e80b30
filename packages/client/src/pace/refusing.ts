import type { ServiceLimit } from '@ratepact/contract'
import type { Limit } from './limit.js'
import type { Answer } from './pace.js'
import { statedMs } from './stated.js'
import type { Statement } from './statements.js'

/** A limit with what one answer says of it. */
export interface Told {
  readonly statement: Statement
  readonly limit: Limit
}

const mostNamed = 32

/** The limits that refused: those named, else those with nothing left, else all stated, else all that hold the call. */
export function refusing(answer: Answer, told: readonly Told[], holding: readonly Limit[]): readonly Limit[] {
  const stated = told.map(({ limit }) => limit)
  const named = (answer.violated ?? []).slice(0, mostNamed)
  const violated = [...stated, ...holding].filter((limit) => named.includes(limit.parts.policy))
  if (violated.length > 0) return [...new Set(violated)]
  const empty = told.filter(({ statement }) => statement.limit?.available === 0).map(({ limit }) => limit)
  if (empty.length > 0) return empty
  return stated.length > 0 ? stated : holding
}

/** The wait that an exhausted limit states, if it states one. */
export function emptyForMs(limit: ServiceLimit | undefined): number | undefined {
  const ms = limit === undefined || limit.available > 0 ? 0 : statedMs(limit)
  return ms > 0 ? ms : undefined
}
