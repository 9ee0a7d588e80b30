import {
  aBoolean,
  aFunction,
  aNumber,
  aString,
  aWhole,
  checkMembers,
  expected,
  listOf,
  oneOf,
  optional,
  refills,
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

function checkRow(name: string, row: unknown): LimitRow {
  const text = optional(aString)
  const flag = optional(aBoolean)
  const amount = optional(fieldOrNumber)
  return checkMembers<LimitRow>(name, row, {
    name: aString,
    nameFrom: text,
    unit: text,
    left: text,
    used: text,
    usage: text,
    reset: text,
    windowMs: text,
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
  return typeof amount === 'string' ? amount : aNumber(0, 1e12)(name, amount)
}
