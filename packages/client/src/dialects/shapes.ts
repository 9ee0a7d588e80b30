import type { Fields, LimitRow, Stated } from './dialect.js'
import { readFamilies } from './families.js'
import { readJsonField, readQuotaLists } from './lists.js'
import { numbers } from './number.js'
import { readRow } from './row.js'

/** A row that holds where the field named says something of that form. */
interface Shape {
  readonly sign: string
  readonly form?: (text: string) => boolean
  readonly row: LimitRow
}

const [left, quota, reset] = ['x-ratelimit-remaining', 'x-ratelimit-limit', 'x-ratelimit-reset']
const spelled = { left: 'x-rate-limit-remaining', reset: 'x-rate-limit-reset' }

/** What is told by its fields alone, whichever host says it. The first that holds is read. */
const shapes: readonly Shape[] = [
  // Jira and Confluence as run by their users.
  {
    sign: 'x-ratelimit-fillrate',
    row: {
      ...{ name: 'bucket', quota, left, refill: 'bucket' },
      ...{ refillUnits: 'x-ratelimit-fillrate', window: 'x-ratelimit-interval-seconds' },
    },
  },
  // Spring Cloud Gateway.
  {
    sign: 'x-ratelimit-replenish-rate',
    row: {
      ...{ name: 'bucket', quota: 'x-ratelimit-burst-capacity', left, refill: 'bucket' },
      refillUnits: 'x-ratelimit-replenish-rate',
    },
  },
  // Akamai: when the next single call may go.
  { sign: 'x-ratelimit-next', row: { name: 'api', quota, left, reset: 'x-ratelimit-next' } },
  // Reddit's likes: what is used in the limit's place.
  { sign: 'x-ratelimit-used', row: { name: 'api', quota, used: 'x-ratelimit-used', left, reset } },
  // Dates and durations of forms that no number and no HTTP-date has.
  { sign: reset, form: (text) => numbers(text) === undefined, row: { name: 'api', quota, left, reset } },
  // AspNetCoreRateLimit: the limit is the length of the window.
  {
    sign: 'x-rate-limit-limit',
    form: (text) => /^\d+[smhd]$/.test(text),
    row: { name: 'api', window: 'x-rate-limit-limit', ...spelled },
  },
  { sign: spelled.left, row: { name: 'api', quota: 'x-rate-limit-limit', ...spelled } },
]

/** The limits of an answer whose host has no dialect of its own. */
export function readShapes(fields: Fields): readonly Stated[] {
  for (const read of [readJsonField, readQuotaLists, readFamilies]) {
    const found = read(fields)
    if (found.length > 0) return found
  }
  const shape = shapes.find(({ sign, form }) => {
    const text = fields.get(sign)
    return text !== undefined && (form?.(text) ?? true)
  })
  const stated = shape && readRow(shape.row, fields)
  return stated === undefined ? [] : [stated]
}
