import {
  aBoolean,
  aFunction,
  aNumber,
  aString,
  aWhole,
  type Check,
  checkMembers,
  expected,
  listOf,
  oneOf,
  optional,
  refills,
  rule,
} from '../check.js'
import type { Dialect, LimitRow } from './dialect.js'

/** @throws TypeError or RangeError that names the member, the rule and what was given. */
export function checkDialects(known: readonly Dialect[]): readonly Dialect[] {
  return listOf(checkDialect)('dialects', known)
}

function checkDialect(name: string, dialect: unknown): Dialect {
  return checkMembers<Dialect>(name, dialect, {
    name: aString,
    hosts: optional(listOf(aHost)),
    limits: listOf(checkRow),
    refusals: optional(listOf(aWhole(400, 599))),
    read: optional<Dialect['read']>(aFunction),
    beforeStandard: optional(aBoolean),
  })
}

function aHost(name: string, host: unknown): string {
  if (typeof host === 'string' && /^(\*\.)?[a-z0-9.-]+(:\d+)?$/i.test(host)) return host.toLowerCase()
  throw new TypeError(expected(name, 'a host, as in "api.example.com" or "*.example.com"', host))
}

/** A token (RFC 9110 section 5.1); whatever else is asked for in an answer, the answer is lost for it. */
const aField: Check<string> = /* @__PURE__ */ rule(
  'the name of a field',
  (field) => typeof field === 'string' && /^[!#$%&'*+.^_`|~\w-]+$/.test(field),
)

function checkRow(name: string, row: unknown): LimitRow {
  const field = optional(aField)
  const flag = optional(aBoolean)
  const amount = optional(fieldOrNumber)
  return checkMembers<LimitRow>(name, row, {
    name: aString,
    nameFrom: field,
    unit: optional(aString),
    left: field,
    used: field,
    usage: field,
    reset: field,
    windowMs: field,
    quota: amount,
    window: amount,
    refillUnits: amount,
    perRoute: flag,
    resetWhenFull: flag,
    resetIn: optional(oneOf('seconds', 'milliseconds')),
    refill: optional(oneOf(...refills)),
  })
}

function fieldOrNumber(name: string, amount: unknown): string | number {
  return typeof amount === 'string' ? aField(name, amount) : aNumber(0, 1e12)(name, amount)
}
