import type { Refill } from '@ratepact/contract'

/** How units of a policy may come back. */
export const refills: readonly Refill[] = ['bucket', 'window', 'log', 'counter']

/** How a refused option is told: its name, the rule, and what was given. */
export function expected(name: string, rule: string, value: unknown): string {
  return `Expected ${name} to be ${rule}, got ${shown(value)}`
}

/** The value, or the default where it is undefined: `??` would take null for not given, which it is not. */
export function given<T>(value: T | undefined, fallback: T): T {
  return value === undefined ? fallback : value
}

/** A number within bounds. */
export function checkNumber(name: string, value: unknown, least: number, most: number, unit = ''): number {
  if (typeof value === 'number' && value >= least && value <= most) return value
  throw misfit(name, `a number${unit} from ${least} to ${most}`, value)
}

export function checkWhole(name: string, value: unknown, least: number, most: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
    return value as number
  throw misfit(name, `a whole number from ${least} to ${most}`, value)
}

export function checkBoolean(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw misfit(name, 'true or false', value)
}

export function checkText(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  throw misfit(name, 'a string', value)
}

export function checkFunction<T>(name: string, value: T): T {
  if (typeof value === 'function') return value
  throw misfit(name, 'a function', value)
}

export function checkOneOf(name: string, value: unknown, allowed: readonly unknown[]): void {
  if (value !== undefined && !allowed.includes(value)) {
    throw new TypeError(expected(name, `one of ${allowed.join(', ')}`, value))
  }
}

/** An object with no other members than those named: a misspelt option must not pass unnoticed. */
export function checkMembers(name: string, value: unknown, members: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value)
    throw misfit(name, 'an object', value)
  for (const member of Object.keys(value)) {
    if (!members.includes(member)) {
      throw new TypeError(`Expected ${name} to have only ${members.join(', ')}, got ${member}`)
    }
  }
}

/** A list of which each entry passes the check. */
export function checkList<T>(
  name: string,
  list: readonly unknown[],
  check: (name: string, each: unknown) => T,
): T[] {
  if (!Array.isArray(list)) throw misfit(name, 'an array', list)
  return list.map((each, index) => check(`${name}[${index}]`, each))
}

function misfit(name: string, rule: string, value: unknown): Error {
  const message = expected(name, rule, value)
  return typeof value === 'number' ? new RangeError(message) : new TypeError(message)
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80))
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null)
    return Symbol.iterator in value ? 'an iterable' : 'an object'
  return String(value)
}
