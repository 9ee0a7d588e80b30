import { marksOn } from './marks.js'
import { completeHead, type NodeResponse } from './node-head.js'

/** What Express puts into each app, for apps to add to: `app.response`, from which all responses of the app inherit. */
interface OfExpress {
  readonly app?: { readonly response?: object }
}

type WriteHead = NodeResponse['writeHead']

const HOOK = Symbol('ratepact')

interface Hooked {
  readonly [HOOK]?: boolean
}

/**
 * Whether the head of a response is completed by what it inherits. To Express's responses one more property is dear, so
 * `writeHead` is wrapped once for all of them, where they inherit it from Node; and not where the user has a `writeHead`
 * in between, on the response or for an app.
 */
export function isHooked(response: NodeResponse): boolean {
  if ((response.writeHead as Hooked | undefined)?.[HOOK] === true) return true
  const top = topOf(response)
  if (top === undefined) return false
  hook(top)
  return true
}

/** What all of Express's responses inherit from; undefined where this one does not inherit Node's `writeHead` by it. */
function topOf(response: NodeResponse): object | undefined {
  const { app } = response as OfExpress
  if (app?.response === undefined || Object.hasOwn(response, 'writeHead')) return undefined
  let top: object = response
  let above: object | null = Object.getPrototypeOf(top)
  while (above !== null && !Object.hasOwn(above, 'writeHead')) {
    top = above
    above = Object.getPrototypeOf(top)
  }
  // The response of an app is of no use: a request may leave that app before it is answered.
  const isExpress = top !== response && !Object.hasOwn(top, 'app')
  return isExpress && Object.isExtensible(top) ? top : undefined
}

function hook(top: object): void {
  function writeHead(this: NodeResponse, status: number, ...rest: unknown[]): unknown {
    // Looked up each time: what watches all of Node's responses may have come later than we.
    const { writeHead } = Object.getPrototypeOf(top) as { readonly writeHead: WriteHead }
    const listeners = marksOn(this)?.listeners
    return listeners === undefined
      ? writeHead.call(this, status, ...rest)
      : completeHead(this, listeners, writeHead, status, rest)
  }
  const value = Object.assign(writeHead, { [HOOK]: true })
  Object.defineProperty(top, 'writeHead', { value, writable: true, configurable: true })
}
