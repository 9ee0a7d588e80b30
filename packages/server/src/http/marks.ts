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

/** One property for all that is noted: each one more makes such an object dearer for everybody. */
export function marksOf(shared: object): Marks {
  const marked = shared as { [MARKS]?: Marks }
  marked[MARKS] ??= { charges: undefined, listeners: undefined }
  return marked[MARKS]
}
