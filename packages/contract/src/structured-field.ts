import {
  type BareItem,
  type InnerList,
  type Item,
  parseDictionary,
  parseList,
  serializeDictionary,
  serializeList,
  Token,
} from 'structured-headers'
import { type FieldValue, ignored, joinLines, type Read } from './field-value.js'

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
    return typeof this.#value === 'string'
      ? this.#value
      : this.#fail('the name to be a String', this.#value, '')
  }

  /** Whether the value is a String, which is how a policy is named from draft 08 on. */
  isNamed(): boolean {
    return typeof this.#value === 'string'
  }

  /** The value of the Item, which must be an Integer no less than 0, as drafts before 08 have it. */
  count(): number {
    // Adding zero makes the Integer -0 the plain zero that it means.
    return isInteger(this.#value, 0) ? this.#value + 0 : this.#fail('an Integer from 0', this.#value, 0)
  }

  has(key: string): boolean {
    return this.#parameters.has(key)
  }

  requiredInteger(key: string, least: number): number {
    if (!this.has(key)) this.fault ??= `${key} is missing`
    return this.integer(key, least) ?? 0
  }

  integer(key: string, least: number): number | undefined {
    const value = this.#parameters.get(key)
    const integer = this.hintInteger(key, least)
    if (integer !== undefined || value === undefined) return integer
    return this.#fail(`${key} to be an Integer from ${least}`, value, undefined)
  }

  string(key: string): string | undefined {
    const value = this.#parameters.get(key)
    if (value === undefined || typeof value === 'string') return value
    return this.#fail(`${key} to be a String`, value, undefined)
  }

  bytes(key: string): Uint8Array | undefined {
    const value = this.#parameters.get(key)
    if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0))
    return value === undefined ? value : this.#fail(`${key} to be a Byte Sequence`, value, undefined)
  }

  /** A parameter that is no fault where it does not fit: a hint. */
  hint<T>(key: string, fits: (value: unknown) => value is T): T | undefined {
    const value = this.#parameters.get(key)
    return fits(value) ? value : undefined
  }

  hintInteger(key: string, least: number, most?: number): number | undefined {
    const value = this.#parameters.get(key)
    return isInteger(value, least, most) ? value + 0 : undefined
  }

  #fail<T>(rule: string, value: unknown, instead: T): T {
    this.fault ??= `expected ${rule}, got ${kindOf(value)}`
    return instead
  }
}

/** Reads a List of Items (RFC 9651 section 3.1). An Inner List becomes an Item with a fault. */
export function readList(value: FieldValue): Read<readonly FieldItem[]> {
  return parsed(value, 'List', (text) => parseList(text).map(toItem))
}

/** Reads a Dictionary of Items (RFC 9651 section 3.2). An Inner List becomes an Item with a fault. */
export function readDictionary(value: FieldValue): Read<ReadonlyMap<string, FieldItem>> {
  return parsed(
    value,
    'Dictionary',
    (text) => new Map(Array.from(parseDictionary(text), ([key, member]) => [key, toItem(member)])),
  )
}

function parsed<T>(value: FieldValue, kind: string, parse: (text: string) => T): Read<T> {
  const field = joinLines(value)
  if (field.status !== 'read') return field
  try {
    return { status: 'read', value: parse(field.value) }
  } catch (error) {
    return ignored(`not a ${kind}: ${(error as Error).message}`)
  }
}

function toItem([value, parameters]: Item | InnerList): FieldItem {
  return new FieldItem(value, parameters)
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
function isInteger(value: unknown, least: number, most = Number.POSITIVE_INFINITY): value is number {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most
}

function kindOf(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return 'a String'
  if (typeof value === 'boolean') return 'a Boolean'
  if (value instanceof Token) return 'a Token'
  return Array.isArray(value) ? 'an Inner List' : 'a value of another type'
}
