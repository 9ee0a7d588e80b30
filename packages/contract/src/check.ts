/** The largest Integer of RFC 9651 section 3.3.1: fifteen digits. */
export const largestInteger = 999_999_999_999_999

/** Returns `value` when it can be written as a String (RFC 9651 section 3.3.3), and throws otherwise. */
export function checkString(where: string, value: unknown): string {
  const rule = 'a string of printable ASCII characters'
  if (typeof value !== 'string') throw new TypeError(expected(where, rule, value))
  if (!/^[\x20-\x7e]*$/.test(value)) throw new RangeError(expected(where, rule, value))
  return value
}

/** Returns `value` when it is an Integer no less than `least`, and throws otherwise. */
export function checkInteger(
  where: string,
  value: unknown,
  least: number,
  most: number = largestInteger,
): number {
  const rule = `a whole number from ${least} to ${most}`
  if (typeof value !== 'number') throw new TypeError(expected(where, rule, value))
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(expected(where, rule, value))
  }
  return value
}

/**
 * Returns the bytes of `value` when it is a Uint8Array, and throws otherwise. A copy, because a Buffer
 * is a view of a pool shared with the rest of the process, and only the view may reach the wire.
 */
export function checkBytes(where: string, value: unknown): ArrayBuffer {
  if (!isBytes(value)) throw new TypeError(expected(where, 'a Uint8Array', value))
  return new Uint8Array(value).buffer
}

/** Applies a check unless the value is not given. */
export function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : check(value)
}

/** "Expected x to be y, got z", with a value of any kind and any length. */
export function expected(where: string, rule: string, value: unknown): string {
  return `Expected ${where} to be ${rule}, got ${describe(value)}`
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80))
  if (value === null || typeof value !== 'object') return String(value).slice(0, 80)
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** Holds for Buffers and for arrays of another realm as well. */
function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
}
