import type { Fields, LimitRow, Stated } from './dialect.js'
import { durationMs } from './instant.js'
import { number } from './number.js'

/** What an answer says of a limit, by its row; undefined when it says nothing of it. */
export function readRow(row: LimitRow, fields: Fields): Stated | undefined {
  const usage = /^(\d{1,15})\s*\/\s*(\d{1,15})$/.exec(textOf(fields, row.usage) ?? '')
  const stated = usage === null ? amount(row.quota, fields) : Number(usage[2])
  const used = usage === null ? number(textOf(fields, row.used)) : Number(usage[1])
  const told = number(textOf(fields, row.left))
  const left = told ?? (stated === undefined || used === undefined ? undefined : Math.max(0, stated - used))
  if (left === undefined) return undefined
  // More left than the documentation allows in all: it is of another time, or of another plan.
  const outdated = typeof row.quota === 'number' && left > row.quota
  const quota = outdated ? undefined : (stated ?? (used === undefined ? undefined : left + used))
  const own = row.nameFrom === undefined ? undefined : sensibleName(fields.get(row.nameFrom))
  return {
    name: own ?? row.name,
    key: own,
    unit: row.unit,
    quota: quota === undefined ? undefined : Math.floor(quota),
    left: Math.floor(left),
    resetMs: fields.untilMs(textOf(fields, row.reset), row.resetIn),
    full: row.resetWhenFull,
    windowMs: outdated ? undefined : windowOf(row, fields),
    refill: row.refill,
  }
}

/** The time in which a whole quota comes back. */
function windowOf(row: LimitRow, fields: Fields): number | undefined {
  const lengthMs = lengthOf(row, fields)
  const units = amount(row.refillUnits, fields)
  if (units === undefined) return lengthMs
  const quota = amount(row.quota, fields)
  return quota === undefined || units === 0 ? undefined : positive((quota / units) * (lengthMs ?? 1000))
}

function lengthOf({ window, windowMs }: LimitRow, fields: Fields): number | undefined {
  if (typeof window === 'number') return window * 1000
  const text = textOf(fields, window)
  const seconds = number(text)
  const ms = seconds === undefined ? durationMs(text ?? '') : seconds * 1000
  return positive(ms ?? number(textOf(fields, windowMs)))
}

function amount(from: string | number | undefined, fields: Fields): number | undefined {
  return typeof from === 'number' ? from : number(textOf(fields, from))
}

function textOf(fields: Fields, name: string | undefined): string | undefined {
  return name === undefined ? undefined : fields.get(name)
}

function positive(ms: number | undefined): number | undefined {
  return ms !== undefined && ms > 0 ? ms : undefined
}

/** What a server calls a limit gets into events and errors. */
export function sensibleName(name: string | undefined): string | undefined {
  return name !== undefined && /^[\x21-\x7e]{1,64}$/.test(name) ? name : undefined
}
