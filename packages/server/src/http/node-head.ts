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

type Listener = (status: number, head: Head) => void

const LISTENERS = Symbol('ratepact: before the head')

/**
 * Calls back once, when the head is about to be written and so its final status is known, with a chance to add to
 * it. Listeners of one response are called in the order in which they came.
 */
export function beforeHead(response: NodeResponse, listener: Listener): void {
  const hooked = response as NodeResponse & { [LISTENERS]?: Listener[] }
  if (hooked[LISTENERS] !== undefined) {
    hooked[LISTENERS].push(listener)
    return
  }
  const listeners: Listener[] = [listener]
  hooked[LISTENERS] = listeners
  const { writeHead } = response
  response.writeHead = function (status: number, ...rest: unknown[]): unknown {
    // A second head is Node's to refuse.
    if (response.headersSent || listeners.length === 0) return writeHead.call(this, status, ...rest)
    const reason = typeof rest[0] === 'string' ? [rest[0]] : []
    applyHeaders(response, typeof rest[0] === 'string' ? rest[1] : (rest[1] ?? rest[0]))
    for (const call of listeners.splice(0)) call(status, headOf(response))
    return writeHead.call(this, status, ...reason)
  }
}

export function headOf(response: Pick<NodeResponse, 'getHeader' | 'setHeader' | 'removeHeader'>): Head {
  return {
    get(name) {
      const value = response.getHeader(name)
      return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
    },
    set: (name, value) => void response.setHeader(name, value),
    remove: (name) => response.removeHeader(name),
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
