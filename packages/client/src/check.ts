import type { Refill } from '@ratepact/contract'

/** How units of a policy may come back. */
export const refills: readonly Refill[] = ['bucket', 'window', 'log', 'counter']

/** Takes what goes by that name for what it is, or throws an error that names it, the rule, and what was given. */
export type Check<T> = (name: string, value: unknown) => T

/** A check for each member of an object. */
export type Checks<T> = { readonly [Member in keyof T]-?: Check<T[Member]> }

/** How a refused option is told: its name, the rule, and what was given. */
export function expected(name: string, rule: string, value: unknown): string {
  return `Expected ${name} to be ${rule}, got ${shown(value)}`
}

/** A check by one rule, in words and in code. */
export function rule<T>(words: string, holds: (value: unknown) => boolean): Check<T> {
  return (name, value) => {
    if (holds(value)) return value as T
    unheard(value)
    const Misfit = typeof value === 'number' ? RangeError : TypeError
    throw new Misfit(expected(name, words, value))
  }
}

/** What a caller's own function returns where no promise has a place may be one all the same: nobody else hears of its end. */
export function unheard<T>(value: T): T {
  if (value instanceof Promise) value.catch(() => {})
  return value
}

/** Of that type, as `typeof` tells it. */
function ofType<T>(type: string, words = `a ${type}`): Check<T> {
  return rule(words, (value) => typeof value === type)
}

export const aString: Check<string> = /* @__PURE__ */ ofType('string')
/** Whatever number: what a server states is no fault of the function that reads it. */
export const someNumber: Check<number> = /* @__PURE__ */ ofType('number')
export const aBoolean: Check<boolean> = /* @__PURE__ */ ofType('boolean', 'true or false')
export const aFunction: <T>(name: string, value: unknown) => T = /* @__PURE__ */ ofType('function')

/** A number within bounds. */
export function aNumber(least: number, most: number, unit = ''): Check<number> {
  const words = `a number${unit} from ${least} to ${most}`
  return rule(words, (value) => typeof value === 'number' && value >= least && value <= most)
}

export function aWhole(least: number, most: number): Check<number> {
  const words = `a whole number from ${least} to ${most}`
  return rule(words, (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most)
}

export function oneOf<T>(...allowed: readonly T[]): Check<T> {
  return rule(`one of ${allowed.join(', ')}`, (value) => allowed.includes(value as T))
}

/** Undefined counts as not given. Null does not: it would be a value like others. */
export function optional<T>(check: Check<T>): Check<T | undefined>
export function optional<T>(check: Check<T>, fallback: T): Check<T>
export function optional<T>(check: Check<T>, fallback?: T): Check<T | undefined> {
  return (name, value) => (value === undefined ? fallback : check(name, value))
}

/** A list of which each entry passes the check. */
export function listOf<T>(check: Check<T>): Check<readonly T[]> {
  return (name, value) => {
    if (!Array.isArray(value)) throw new TypeError(expected(name, 'an array', value))
    return value.map((each, index) => check(`${name}[${index}]`, each))
  }
}

/** Neither a list of any kind nor something that is still to come. */
const anObject: Check<Record<string, unknown>> = /* @__PURE__ */ rule(
  'an object',
  (value) => typeof value === 'object' && value !== null && !(Symbol.iterator in value || 'then' in value),
)

/**
 * An object whose members pass their checks, whatever others it has; a copy, with what the checks made of them.
 *
 * @param within what its members' names begin with
 */
export function checkShape<T>(name: string, value: unknown, checks: Checks<T>, within = `${name}.`): T {
  const given = anObject(name, value)
  const checked: Record<string, unknown> = { ...given }
  for (const [member, check] of Object.entries<Check<unknown>>(checks))
    checked[member] = check(within + member, given[member])
  return checked as T
}

/** The same without any others: a misspelt option must not pass unnoticed. */
export function checkMembers<T>(name: string, value: unknown, checks: Checks<T>, within?: string): T {
  const unknown = Object.keys(anObject(name, value)).find((member) => !Object.hasOwn(checks, member))
  if (unknown === undefined) return checkShape(name, value, checks, within)
  throw new TypeError(`Expected ${name} to have only ${Object.keys(checks).join(', ')}, got ${unknown}`)
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80))
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null)
    return Symbol.iterator in value ? 'an iterable' : 'an object'
  return String(value)
}
