import {
  type BareItem,
  parseDictionary,
  parseList,
  serializeDictionary,
  serializeList,
  Token,
} from 'structured-headers'
import { type FieldValue, joinLines } from './field-value.js'

/**
 * One Item of a field, asked parameter by parameter. What does not fit is told by `fault` (the first
 * one found) and not thrown, so that a field full of faults costs no more than a sound one.
 */
export class FieldItem {
  readonly #value: unknown
  readonly #parameters: ReadonlyMap<string, unknown>
  fault: string | undefined

  constructor(value: unknown, parameters: ReadonlyMap<string, unknown>) {
    this.#value = value
    this.#parameters = parameters
  }

  /** The value of the Item, which must be a String. */
  name(): string {
    if (typeof this.#value === 'string') return this.#value
    this.#fail(`expected the name to be a String, got ${kindOf(this.#value)}`)
    return ''
  }

  /** Whether the value is a String, which is how a policy is named from draft 08 on. */
  isNamed(): boolean {
    return typeof this.#value === 'string'
  }

  /** The value of the Item, which must be an Integer no less than 0, as drafts before 08 have it. */
  count(): number {
    if (isInteger(this.#value) && this.#value >= 0) return this.#value + 0
    this.#fail(`expected an Integer from 0, got ${kindOf(this.#value)}`)
    return 0
  }

  has(key: string): boolean {
    return this.#parameters.has(key)
  }

  /** The parameter as it was parsed, for hints: nothing about it is a fault. */
  raw(key: string): unknown {
    return this.#parameters.get(key)
  }

  requiredInteger(key: string, least: number): number {
    if (!this.has(key)) this.#fail(`${key} is missing`)
    return this.integer(key, least) ?? 0
  }

  integer(key: string, least: number): number | undefined {
    const value = this.#parameters.get(key)
    if (value === undefined) return undefined
    // Adding zero makes the Integer -0 the plain zero that it means.
    if (isInteger(value) && value >= least) return value + 0
    this.#fail(`expected ${key} to be an Integer from ${least}, got ${kindOf(value)}`)
    return undefined
  }

  string(key: string): string | undefined {
    const value = this.#parameters.get(key)
    if (value === undefined || typeof value === 'string') return value
    this.#fail(`expected ${key} to be a String, got ${kindOf(value)}`)
    return undefined
  }

  bytes(key: string): Uint8Array | undefined {
    const value = this.#parameters.get(key)
    if (value === undefined) return undefined
    if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0))
    this.#fail(`expected ${key} to be a Byte Sequence, got ${kindOf(value)}`)
    return undefined
  }

  #fail(fault: string): void {
    this.fault ??= fault
  }
}

export type FieldList =
  | { status: 'absent' }
  | { status: 'ignored'; reason: string }
  | { status: 'list'; items: readonly FieldItem[] }

/** Reads a List of Items (RFC 9651 section 3.1). An Inner List becomes an Item with a fault. */
export function readList(value: FieldValue): FieldList {
  const field = joinLines(value)
  if (field.status !== 'text') return field
  try {
    const items = parseList(field.text).map(([value, parameters]) => new FieldItem(value, parameters))
    return { status: 'list', items }
  } catch (error) {
    return { status: 'ignored', reason: `not a List: ${error instanceof Error ? error.message : error}` }
  }
}

export type FieldDictionary =
  | { status: 'absent' }
  | { status: 'ignored'; reason: string }
  | { status: 'dictionary'; members: ReadonlyMap<string, FieldItem> }

/** Reads a Dictionary of Items (RFC 9651 section 3.2). An Inner List becomes an Item with a fault. */
export function readDictionary(value: FieldValue): FieldDictionary {
  const field = joinLines(value)
  if (field.status !== 'text') return field
  try {
    const members = new Map<string, FieldItem>()
    for (const [key, [value, parameters]] of parseDictionary(field.text)) {
      members.set(key, new FieldItem(value, parameters))
    }
    return { status: 'dictionary', members }
  } catch (error) {
    return {
      status: 'ignored',
      reason: `not a Dictionary: ${error instanceof Error ? error.message : error}`,
    }
  }
}

/** A parameter to write, its value checked before. Without a key or a value it is left out. */
export type Parameter = readonly [key: string | undefined, value: number | string | ArrayBuffer | undefined]

export type WrittenItem = readonly [value: string | number, parameters: readonly Parameter[]]

/** Writes a List of Items, none of which may be missing: the empty List has no form on the wire. */
export function writeList(items: readonly WrittenItem[]): string {
  return serializeList(
    items.map(([value, parameters]) => {
      const given = new Map<string, BareItem>()
      for (const [key, value] of parameters) {
        if (key !== undefined && value !== undefined) given.set(key, value)
      }
      return [value, given]
    }),
  )
}

/** Writes a Dictionary of Integers, checked before. */
export function writeDictionary(members: Readonly<Record<string, number>>): string {
  return serializeDictionary(members)
}

/** The parser has one number type, so the Decimal 50.0 passes for the Integer 50. */
function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value)
}

function kindOf(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return 'a String'
  if (typeof value === 'boolean') return 'a Boolean'
  if (value instanceof Token) return 'a Token'
  return Array.isArray(value) ? 'an Inner List' : 'a value of another type'
}
