import type { LegacyDialect } from '@ratepact/contract'
import type { Limit } from '../decision.js'
import type { Policy } from '../policy.js'
import { createFieldWriter } from './fields.js'
import { appendField, type Head, setNearer } from './head.js'
import { createLegacyWriter } from './legacy.js'
import type { HeaderOptions } from './options.js'

/** How the answers of one adapter state limits. */
export interface Statements {
  /** The fields that it may write. */
  readonly names: readonly string[]
  /**
   * Writes into the head of an answer what there is to say of the limits.
   * @param atMs when the limiter was asked, in milliseconds since 1970
   * @returns whether anything was said
   */
  write(head: Head, limits: readonly Limit[], atMs: number): boolean
}

const NAMED = ['RateLimit', 'RateLimit-Policy']
const THREE = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']
const LEGACY: Readonly<Record<LegacyDialect, readonly string[]>> = {
  'draft-3': [...NAMED, ...THREE],
  'draft-6': [...NAMED, ...THREE],
  'draft-7': NAMED,
  'x-ratelimit': [...NAMED, ...THREE.map((name) => `X-${name}`)],
}

/** The fields with names, and on request those of an older dialect besides, or in their place if they share a name. */
export function createStatements(policies: readonly Policy[], headers: HeaderOptions): Statements {
  const { draft = 11, hints = true } = headers
  const dialect = dialectOf(headers.legacy)
  const writeNamed = dialect === 'draft-7' ? undefined : createFieldWriter(policies, draft, hints)
  const writeLegacy = dialect === undefined ? undefined : createLegacyWriter(policies, dialect)
  return {
    names: dialect === undefined ? NAMED : LEGACY[dialect],
    write(head, limits, atMs) {
      const named = writeNamed?.(limits)
      const legacy = writeLegacy?.(limits, atMs)
      if (named !== undefined) {
        appendField(head, 'RateLimit-Policy', named.policies)
        appendField(head, 'RateLimit', named.limits)
      }
      if (legacy !== undefined) setNearer(head, legacy)
      return named !== undefined || (legacy !== undefined && legacy.length > 0)
    },
  }
}

function dialectOf(legacy: HeaderOptions['legacy']): LegacyDialect | undefined {
  if (legacy === undefined || legacy === false) return undefined
  return legacy === true ? 'x-ratelimit' : legacy
}
