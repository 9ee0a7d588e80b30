import type { Head } from './head.js'

/** As much of Node's ServerResponse as is needed to write into its head. */
export interface NodeResponse {
  statusCode: number
  readonly headersSent: boolean
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string): unknown
  appendHeader(name: string, value: string): unknown
  removeHeader(name: string): void
  writeHead(status: number, ...rest: unknown[]): unknown
}

/** Adds to a head whose status is final. */
export type HeadListener = (status: number, head: Head) => void

/** Calls the listeners, once, then what writes the head. */
export function completeHead(
  response: NodeResponse,
  listeners: HeadListener[],
  writeHead: NodeResponse['writeHead'],
  status: number,
  rest: readonly unknown[],
): unknown {
  // A second head is Node's to refuse.
  if (response.headersSent || listeners.length === 0) return writeHead.call(response, status, ...rest)
  if (rest.length > 0) applyHeaders(response, typeof rest[0] === 'string' ? rest[1] : (rest[1] ?? rest[0]))
  const head = headOf(response)
  for (const call of listeners) call(status, head)
  listeners.length = 0
  return typeof rest[0] === 'string'
    ? writeHead.call(response, status, rest[0])
    : writeHead.call(response, status)
}

type Fields = Pick<NodeResponse, 'getHeader' | 'setHeader' | 'removeHeader'>

export function headOf(response: Fields): Head {
  return new NodeHead(response)
}

/** A class, since there is one for each answer: closures are dearer. */
class NodeHead implements Head {
  readonly #response: Fields

  constructor(response: Fields) {
    this.#response = response
  }

  get(name: string): string | undefined {
    const value = this.#response.getHeader(name)
    return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
  }

  set(name: string, value: string): void {
    this.#response.setHeader(name, value)
  }

  remove(name: string): void {
    this.#response.removeHeader(name)
  }
}

/**
 * Sets the headers given to `writeHead` one by one, as Node itself does when some are set already: so that ours join
 * those of the same name. They come as an object, as a flat list, or as a list of pairs.
 */
function applyHeaders(response: NodeResponse, given: unknown): void {
  if (typeof given !== 'object' || given === null) return
  if (!Array.isArray(given)) {
    for (const [name, value] of Object.entries(given)) response.setHeader(name, value)
    return
  }
  const pairs = Array.isArray(given[0]) ? given : pairUp(given)
  for (const [name] of pairs) response.removeHeader(name)
  for (const [name, value] of pairs) response.appendHeader(name, value)
}

function pairUp(flat: readonly unknown[]): [string, string][] {
  return Array.from({ length: Math.ceil(flat.length / 2) }, (_, i) => [
    flat[2 * i] as string,
    flat[2 * i + 1] as string,
  ])
}
