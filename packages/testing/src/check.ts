/** "Expected x to be y, got z", with a value of any kind and any length. */
export function expected(option: string, rule: string, got: unknown): string {
  return `Expected ${option} to be ${rule}, got ${shown(got)}`
}

/** An object with no other members than those named: a misspelt option must not pass for the default. */
export function checkMembers(what: string, value: unknown, members: readonly string[]): void {
  if (typeof value !== 'object' || value === null) throw new TypeError(expected(what, 'an object', value))
  for (const member of Object.keys(value)) {
    if (!members.includes(member)) {
      throw new TypeError(`Unknown option ${shown(member)} of ${what}; it takes ${members.join(', ')}`)
    }
  }
}

export function checkNumber(option: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && value >= least && value <= most) return
  const Mistake = typeof value === 'number' ? RangeError : TypeError
  throw new Mistake(expected(option, `a number from ${least} to ${most}`, value))
}

export function checkFunction(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') {
    throw new TypeError(expected(option, 'a function', value))
  }
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return String(value)
}
