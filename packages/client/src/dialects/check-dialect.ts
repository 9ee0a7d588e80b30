import {
  checkBoolean,
  checkFunction,
  checkList,
  checkMembers,
  checkNumber,
  checkOneOf,
  checkText,
  checkWhole,
  expected,
  refills,
} from '../check.js'
import type { Dialect, LimitRow } from './dialect.js'

const members = ['name', 'hosts', 'limits', 'refusals', 'read', 'beforeStandard']
const texts = ['nameFrom', 'unit', 'left', 'used', 'usage', 'reset', 'windowMs'] as const
const amounts = ['quota', 'window', 'refillUnits'] as const
const flags = ['perRoute', 'resetWhenFull'] as const
const rowMembers = ['name', ...texts, ...amounts, ...flags, 'resetIn', 'refill']

/** @throws TypeError or RangeError that names the member, the rule and what was given. */
export function checkDialects(known: readonly Dialect[]): readonly Dialect[] {
  return checkList('dialects', known, (name, each) => {
    checkMembers(name, each, members)
    const dialect = each as Dialect
    checkText(`${name}.name`, dialect.name)
    checkList(`${name}.limits`, dialect.limits, checkRow)
    const { hosts, refusals, read, beforeStandard } = dialect
    if (refusals !== undefined)
      checkList(`${name}.refusals`, refusals, (at, status) => checkWhole(at, status, 400, 599))
    if (read !== undefined) checkFunction(`${name}.read`, read)
    if (beforeStandard !== undefined) checkBoolean(`${name}.beforeStandard`, beforeStandard)
    return hosts === undefined ? dialect : { ...dialect, hosts: checkList(`${name}.hosts`, hosts, checkHost) }
  })
}

function checkHost(name: string, host: unknown): string {
  if (typeof host === 'string' && /^(\*\.)?[a-z0-9.-]+(:\d+)?$/i.test(host)) return host.toLowerCase()
  throw new TypeError(expected(name, 'a host, as in "api.example.com" or "*.example.com"', host))
}

function checkRow(name: string, row: unknown): void {
  checkMembers(name, row, rowMembers)
  const given = row as LimitRow
  checkText(`${name}.name`, given.name)
  for (const member of texts) if (given[member] !== undefined) checkText(`${name}.${member}`, given[member])
  for (const member of amounts) {
    const amount = given[member]
    if (typeof amount !== 'string' && amount !== undefined) checkNumber(`${name}.${member}`, amount, 0, 1e12)
  }
  for (const member of flags)
    if (given[member] !== undefined) checkBoolean(`${name}.${member}`, given[member])
  checkOneOf(`${name}.resetIn`, given.resetIn, ['seconds', 'milliseconds'])
  checkOneOf(`${name}.refill`, given.refill, refills)
}
