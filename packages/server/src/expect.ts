/** Says what was expected and what came instead, in one form for every check of the package. */
export function expected(option: string, rule: string, got: unknown): string {
  return `Expected ${option} to be ${rule}, got ${show(got)}`
}

/** A short, printable form of any value; never calls into it and never shows more than a few characters. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (value === null || ['number', 'boolean', 'undefined', 'symbol'].includes(typeof value))
    return String(value)
  if (typeof value === 'function') return 'a function'
  return Array.isArray(value) ? `an array of ${value.length}` : 'an object'
}

export function expectObject(option: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(expected(option, 'an object', value))
}

/** Refuses names that the options do not have: a typo must not silently mean the default. */
export function expectOnly(what: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new TypeError(`Unknown option ${show(name)} of ${what}; it takes ${known.join(', ')}`)
}

export function expectInteger(
  option: string,
  value: unknown,
  least: number,
  most: number,
): asserts value is number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw new RangeError(expected(option, `a whole number from ${least} to ${most}`, value))
}

export function expectFunction(option: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(expected(option, 'a function', value))
}

export function expectOneOf(option: string, value: unknown, allowed: readonly unknown[]): void {
  if (!allowed.includes(value))
    throw new TypeError(expected(option, `one of ${allowed.map(show).join(', ')}`, value))
}

/** A source of time: `now()` gives a number. */
export function expectNow(option: string, clock: unknown): void {
  const { now } = (typeof clock === 'object' && clock !== null ? clock : {}) as { now?: unknown }
  if (typeof now !== 'function' || !Number.isFinite(now.call(clock)))
    throw new TypeError(expected(option, 'a clock whose now() gives a number', clock))
}
