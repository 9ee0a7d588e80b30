import type { Charged } from './charged.js'
import type { Head } from './head.js'

/** What limiters note of a request, with what all of them are handed alike: its answer, or the request itself. */
export interface Marks {
  /** What has been charged, by those that have admitted it. */
  charges: Charged[] | undefined
  /** What is to be called before the head of its answer is written. */
  listeners: ((status: number, head: Head) => void)[] | undefined
}

const MARKS = Symbol('ratepact')

/**
 * One property for all that is noted, and in Express with what the request's middleware leaves for each other: an answer
 * is a large object, to which one more property costs as much as a decision in memory.
 */
export function marksOf(shared: object): Marks {
  const { locals } = shared as { readonly locals?: unknown }
  const roomy = typeof locals === 'object' && locals !== null && Object.isExtensible(locals)
  const marked = (roomy ? locals : shared) as { [MARKS]?: Marks }
  let marks = marked[MARKS]
  if (marks === undefined) {
    marks = { charges: undefined, listeners: undefined }
    marked[MARKS] = marks
  }
  return marks
}
