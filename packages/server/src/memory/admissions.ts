import { homeText } from '../home.js'
import type { Once } from '../store.js'

/** What is remembered of an id: that it was admitted, or only that what is tried was charged for it. */
export type Remembered = 'admitted' | 'tried'

/** Calls remembered by id. */
export interface Admissions {
  /** What is remembered of this id; an admission is repeated by it as often as it may be; `counted` when it is. */
  repeat(once: Once, nowUs: number, counted: boolean): Remembered | undefined
  remember(once: Once, what: Remembered, nowUs: number): void
  forget(once: Once): void
}

/** How often an admission is repeated to who asks again by the same id. */
const REPEATS = 3

/** A bounded list: beyond it the oldest is forgotten. */
export function createAdmissions(most: number): Admissions {
  const known = new Map<string, { readonly what: Remembered; untilUs: number; repeats: number }>()
  return {
    repeat(once, nowUs, counted) {
      const admission = known.get(keyOf(once))
      if (admission === undefined || admission.untilUs <= nowUs) return undefined
      if (admission.what === 'tried') return 'tried'
      if (admission.repeats >= REPEATS) return undefined
      if (!counted) return 'admitted'
      admission.repeats += 1
      // When the clock was set back, it is remembered for no longer than from now.
      admission.untilUs = Math.min(admission.untilUs, nowUs + once.ms * 1000)
      return 'admitted'
    },
    remember(once, what, nowUs) {
      const key = keyOf(once)
      known.delete(key)
      const [oldest] = known.keys()
      if (known.size >= most && oldest !== undefined) known.delete(oldest)
      known.set(key, { what, untilUs: nowUs + once.ms * 1000, repeats: 0 })
    },
    forget: (once) => void known.delete(keyOf(once)),
  }
}

function keyOf({ owner, id }: Once): string {
  const { kind, value, scope = '' } = owner
  return `${kind} ${value.length}:${value}${homeText(owner)} ${scope.length}:${scope} ${id}`
}
