import type { Fields } from './dialect.js'

/** Fields that say how long to stay away, and what a plain number in them counts. */
const waits: readonly (readonly [field: string, smallIn: 'seconds' | 'milliseconds'])[] = [
  // With a fraction (Shopify), which the standard does not know.
  ['retry-after', 'seconds'],
  ['retry-after-ms', 'milliseconds'],
  ['x-ms-retry-after-ms', 'milliseconds'],
  ['x-amz-retry-after', 'milliseconds'],
  ['x-retry-in', 'seconds'],
  ['x-rate-limit-retry-after-seconds', 'seconds'],
  ['x-ratelimit-retry-after', 'seconds'],
]

/** How long a refusal asks to be left alone, in the words of those that do not say `Retry-After` by the standard. */
export function waitMs(fields: Fields): number | undefined {
  for (const [field, smallIn] of waits) {
    const ms = fields.untilMs(fields.get(field), smallIn)
    if (ms !== undefined) return ms
  }
  // Nest: one for each limit that refused.
  const named = fields.names.filter((name) => /^retry-after-./.test(name))
  const known = named.map((name) => fields.untilMs(fields.get(name))).filter((ms) => ms !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
