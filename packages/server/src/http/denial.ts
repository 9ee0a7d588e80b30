import { type ProblemDetails, problem } from '@ratepact/contract'
import type { Decision, Limit, Refused } from '../decision.js'
import type { Body } from './denial-body.js'
import type { Field } from './fields.js'

/** A decision that lets the call not pass. */
export type Denied<Name extends string = string> = Extract<Decision<Name>, { readonly allowed: false }>

/** The answer to a call that may not pass, besides the fields that state the limits. */
export interface DenialHead {
  /** 429, or 503 when it was the store that could not be asked. */
  readonly status: 429 | 503
  /** What holds of the answer whatever its body: `Retry-After`, `Cache-Control`. */
  readonly headers: readonly Field[]
  /** Problem details (RFC 9457) of the draft's types. */
  readonly details: ProblemDetails
}

/** The same with a body, in the form that was asked for. */
export interface Denial extends DenialHead, Body {}

/** RFC 6585 section 4: a 429 must not be stored; neither is a 503 worth keeping. */
const UNSTORED: Field = ['Cache-Control', 'no-store']

/** @param hints whether the exact wait is stated beside `Retry-After`, as `retry-after-ms` */
export function denialOf(decision: Denied, hints: boolean): DenialHead {
  switch (decision.outcome) {
    case 'refused': {
      const seconds = wholeWait(decision)
      const wait: Field[] = [['Retry-After', String(seconds)]]
      if (hints) wait.push(['retry-after-ms', String(waitMs(decision, seconds))])
      const { violated } = decision
      return answer(problem('quota-exceeded', { violatedPolicies: violated, detail: retryIn(seconds) }), wait)
    }
    case 'impossible': {
      const { violated } = decision
      return answer(problem('quota-exceeded', { violatedPolicies: violated, detail: never(violated) }), [])
    }
    case 'blocked': {
      const { retryAfterSeconds } = decision
      if (retryAfterSeconds === undefined) return answer(problem('abnormal-usage-detected', {}), [])
      const seconds = Math.max(1, Math.ceil(retryAfterSeconds))
      return answer(problem('abnormal-usage-detected', { detail: retryIn(seconds) }), [
        ['Retry-After', String(seconds)],
      ])
    }
    case 'unavailable': {
      const seconds = Math.max(1, Math.ceil(decision.retryAfterSeconds))
      return answer(problem('temporary-reduced-capacity', { detail: retryIn(seconds) }), [
        ['Retry-After', String(seconds)],
      ])
    }
  }
}

function answer(details: ReturnType<typeof problem>, wait: readonly Field[]): DenialHead {
  return {
    status: details.status === 503 ? 503 : 429,
    headers: [...wait, UNSTORED],
    details,
  }
}

/** Whole seconds, at least 1, and never before the effective window of a policy that refused (draft-11 section 6). */
function wholeWait({ limits, retryAfterSeconds }: Refused): number {
  const windows = limits
    .filter((limit: Limit) => !limit.allowed)
    .map(({ effectiveWindowSeconds }) => effectiveWindowSeconds ?? 0)
  return Math.max(1, Math.ceil(retryAfterSeconds), ...windows)
}

/** Counted from whole microseconds: 0.34 s times 1000 is a hair above 340 in a double. */
function waitMs({ retryAfterSeconds }: Refused, seconds: number): number {
  return Math.min(Math.ceil(Math.round(retryAfterSeconds * 1e6) / 1000), seconds * 1000)
}

function retryIn(seconds: number): string {
  return seconds === 1 ? 'Retry in 1 second.' : `Retry in ${seconds} seconds.`
}

function never(violated: readonly string[]): string {
  const names = violated.map((name) => `"${name}"`).join(' and ')
  return `This request costs more than ${names} ever allows at once: it cannot pass, now or later.`
}
