import type { Dispatcher } from 'undici'
import { Target } from '../target.js'

type Given = Dispatcher.DispatchOptions['headers']

/** The target of what undici is asked to send; undefined for what makes no sense. */
export function targetOf(
  { origin, path, method }: Dispatcher.DispatchOptions,
  headers: [string, string][] | undefined,
  unknown: string,
): Target | undefined {
  try {
    const location = new URL(path, origin ?? unknown)
    return new Target(location, String(method).toUpperCase(), headers)
  } catch {
    return undefined
  }
}

/** Headers in any of undici's forms: names and values in turn, pairs, or an object; values may be lists. */
export function pairsOf(headers: Given): [string, string][] | undefined {
  if (headers === undefined || headers === null) return undefined
  return [...entriesOf(headers)].flatMap(([name, value]) =>
    (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]).map(
      (each): [string, string] => [name, String(each)],
    ),
  )
}

function entriesOf(headers: NonNullable<Given>): Iterable<readonly [string, unknown]> {
  if (!Array.isArray(headers)) {
    return Symbol.iterator in headers
      ? (headers as Iterable<readonly [string, unknown]>)
      : Object.entries(headers)
  }
  if (Array.isArray(headers[0])) return headers as unknown as [string, unknown][]
  return headers.flatMap((name: string, index) =>
    index % 2 === 0 ? [[name, headers[index + 1]] as const] : [],
  )
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
