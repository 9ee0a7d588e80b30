import type { Charged } from './charged.js'
import type { Head } from './head.js'

/**
 * What limiters note of a request, with what all of them are handed alike: its answer, or the request itself. A class,
 * since there is one for each request: see `listOf`.
 */
export class Marks {
  /** What they are the marks of. */
  readonly shared: object
  /** What has been charged, by those that have admitted it. */
  charges: Charged[] | undefined
  /** What is to be called before the head of its answer is written. */
  listeners: ((status: number, head: Head) => void)[] | undefined

  constructor(shared: object) {
    this.shared = shared
    this.charges = undefined
    this.listeners = undefined
  }
}

const MARKS = Symbol('ratepact')

interface Marked {
  [MARKS]?: Marks
}

/** Those of what can be given no property. */
const APART = new WeakMap<object, Marks>()

/** One request may have several answers, one after the other, where tests make them. */
export function marksOf(shared: object): Marks {
  const marked = markedFor(shared)
  const marks = marked[MARKS] ?? APART.get(shared)
  if (marks?.shared === shared) return marks
  const made = new Marks(shared)
  if (Object.isExtensible(marked)) marked[MARKS] = made
  else APART.set(shared, made)
  return made
}

/** The marks of an answer, also where it is only the front of the one that they were made for. */
export function marksOn(answer: object): Marks | undefined {
  return markedFor(answer)[MARKS] ?? APART.get(answer)
}

/**
 * What carries the marks. An answer of Node's is a large object, to which one more property costs as much as a decision
 * in memory once Express has given it another prototype. So they are with the list of its request's raw headers, an
 * object of its own that nobody copies or replaces.
 */
function markedFor(shared: object): Marked {
  const { req } = shared as { readonly req?: { readonly rawHeaders?: unknown } | null }
  const list = req?.rawHeaders
  return Array.isArray(list) && Object.isExtensible(list) ? (list as Marked) : (shared as Marked)
}
