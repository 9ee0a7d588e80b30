import type { ResetMeaning } from '@ratepact/contract'
import { checkMembers, expected } from './check.js'

/**
 * What a service means by fields that no standard defines. Named limits and the fields of earlier drafts are told by
 * their shape and need none of this.
 */
export interface DialectOptions {
  /**
   * What `X-RateLimit-Reset` counts. `X-RateLimit-Limit`, `-Remaining` and `-Reset` are read only when this is given,
   * because nothing in them says it.
   * @default not read
   */
  readonly xRateLimitReset?: ResetMeaning | undefined
}

const meanings = ['epoch-seconds', 'epoch-milliseconds', 'delta-seconds', 'http-date'] as const

/** @throws TypeError that names the option, the rule and what was given. */
export function readDialect(dialect: DialectOptions | undefined): DialectOptions {
  if (dialect === undefined) return {}
  checkMembers('dialect', dialect, ['xRateLimitReset'])
  const { xRateLimitReset: meaning } = dialect
  if (meaning === undefined || meanings.includes(meaning)) return { xRateLimitReset: meaning }
  throw new TypeError(expected('dialect.xRateLimitReset', `one of ${meanings.join(', ')}`, meaning))
}
