import type { Admitted, Blocked, Limit, Refused, ShadowResult, Source } from './decision.js'
import { type Draft, plain } from './plain.js'

/** An admission, in the order in which it is told. */
export function admission<Name extends string>(
  limits: readonly Limit<Name>[],
  delaySeconds: number,
  replayed: boolean,
  source: Source,
  shadow: readonly ShadowResult[],
): Admitted<Name> {
  return new OfAdmitted(limits, delaySeconds, replayed, source, shadow) as Admitted<Name>
}

const OfAdmitted = plain(function Decision(
  this: Draft<Admitted>,
  limits: readonly Limit[],
  delaySeconds: number,
  replayed: boolean,
  source: Source,
  shadow: readonly ShadowResult[],
) {
  this.outcome = 'admitted'
  this.allowed = true
  this.limits = limits
  this.delaySeconds = delaySeconds
  this.replayed = replayed
  this.source = source
  this.shadow = shadow
})

/** A refusal, in the order in which it is told. */
export function refusal<Name extends string>(
  limits: readonly Limit<Name>[],
  violated: readonly Name[],
  retryAfterSeconds: number,
  source: Source,
  shadow: readonly ShadowResult[],
): Refused<Name> {
  return new OfRefused(limits, violated, retryAfterSeconds, source, shadow) as Refused<Name>
}

const OfRefused = plain(function Decision(
  this: Draft<Refused>,
  limits: readonly Limit[],
  violated: readonly string[],
  retryAfterSeconds: number,
  source: Source,
  shadow: readonly ShadowResult[],
) {
  this.outcome = 'refused'
  this.allowed = false
  this.limits = limits
  this.violated = violated
  this.retryAfterSeconds = retryAfterSeconds
  this.source = source
  this.shadow = shadow
})

/** What is said of who is blocked. @param retryAfterSeconds Infinity = for ever */
export function blocking(
  retryAfterSeconds: number,
  source: Source,
  shadow: readonly ShadowResult[],
): Blocked {
  return new OfBlocked(retryAfterSeconds, source, shadow)
}

const OfBlocked = plain(function Decision(
  this: Draft<Blocked>,
  retryAfterSeconds: number,
  source: Source,
  shadow: readonly ShadowResult[],
) {
  this.outcome = 'blocked'
  this.allowed = false
  if (Number.isFinite(retryAfterSeconds)) this.retryAfterSeconds = retryAfterSeconds
  this.source = source
  this.shadow = shadow
})
