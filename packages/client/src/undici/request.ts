import type { Dispatcher } from 'undici'
import { type Addresses, addressAt } from '../address.js'
import { Target } from '../target.js'

type Options = Dispatcher.DispatchOptions
type Given = Options['headers']
export type Pairs = [string, string][]

/** A call as it was given, which its caller may change for another one while it waits. */
export function copyOf(options: Options): Options {
  const copy = { ...options }
  if (copy.headers) copy.headers = copyHeaders(copy.headers)
  return copy
}

/** Headers that can be read twice: names and values in turn, or an object; what is neither is for undici to refuse. */
function copyHeaders(given: NonNullable<Given>): NonNullable<Given> {
  if (typeof given !== 'object') return given
  if (Array.isArray(given)) return given.map(copyValue)
  if (!(Symbol.iterator in given)) {
    const copy: Record<string, string | string[] | undefined> = { ...given }
    for (const name in copy) copy[name] = copyValue(copy[name])
    return copy
  }
  const pairs = [...(given as Iterable<[string, string]>)]
  const sound = pairs.every((pair) => Array.isArray(pair) && pair.length === 2)
  return sound ? pairs.flatMap(([name, value]) => [name, copyValue(value)]) : new Set(pairs)
}

function copyValue<T>(value: T): T {
  return Array.isArray(value) ? ([...value] as T) : value
}

/** The target of what undici is asked to send, and its headers; undefined for what makes no sense. */
export function targetOf(
  { origin, path, query, method, headers }: Options,
  unknown: string,
  addresses: Addresses,
): { readonly target: Target; readonly pairs: Pairs } | undefined {
  try {
    let address = addresses.read(addressOf(origin ?? unknown, path))
    if (address === undefined) return undefined
    if (query) address = addressAt(withQuery(address.location, query))
    const pairs = pairsOf(headers)
    const target = new Target(address, String(method).toUpperCase(), headers ? pairs : undefined)
    return (target.bare || target.headers) && { target, pairs }
  } catch {
    return undefined
  }
}

/** A call goes to its origin, whatever host its path may name. */
function addressOf(origin: string | URL, path: string): string {
  const root = typeof origin === 'string' ? origin.replace(/\/$/, '') : origin.origin
  if (path.startsWith('/')) return root + path
  const { pathname, search } = new URL(path)
  return root + pathname + search
}

function withQuery(location: URL, query: NonNullable<Options['query']>): URL {
  const whole = new URL(location)
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) whole.searchParams.append(name, String(each ?? ''))
  return whole
}

/** @throws for what undici refuses */
function pairsOf(headers: Given): Pairs {
  const pairs: Pairs = []
  const add = (name: string, value: unknown): void => {
    if (value === undefined) return
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) throw new TypeError(name)
    for (const each of [value].flat()) pairs.push([name, `${each ?? ''}`])
  }
  if (Array.isArray(headers)) {
    for (let at = 0; at < headers.length; at += 2) add(headers[at] as string, headers[at + 1])
  } else if (headers) {
    if (typeof headers !== 'object' || headers instanceof Set) throw new TypeError('headers')
    for (const [name, value] of Object.entries(headers)) add(name, value)
  }
  return pairs
}

/** The call with more fields after its own, in the form of those. */
export function withPairs(options: Options, more: Pairs): Options {
  const { headers } = options
  if (Array.isArray(headers)) return { ...options, headers: [...headers, ...more.flat()] }
  return { ...options, headers: { ...(headers as Record<string, string>), ...Object.fromEntries(more) } }
}

/** What can be read once: streams and iterators, but neither text nor bytes nor forms. */
export function isConsumable(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || ArrayBuffer.isView(body)) return false
  return 'pipe' in body || 'getReader' in body || Symbol.asyncIterator in body || isOneIterator(body)
}

/** An iterable that is its own iterator; a FormData or a list gives a new one each time. */
function isOneIterator(body: object): boolean {
  return Symbol.iterator in body && 'next' in body
}

/** Lets go of a body that will not be sent, and of what it holds. */
export function discard(body: unknown, reason: Error): void {
  if (!isConsumable(body)) return
  const source = body as Record<string, ((...given: unknown[]) => unknown) | undefined>
  source.on?.('error', () => {})
  const stop = source.destroy ?? source.cancel ?? source.return
  // What fails in it is nobody's concern any more.
  new Promise((resolve) => resolve(stop?.call(source, reason))).catch(() => {})
}
