import { homeText } from '../home.js'
import type { Once } from '../store.js'

/** Admissions remembered by id. */
export interface Admissions {
  /** Whether one of this id is remembered and may be repeated once more; `counted` when it is. */
  repeat(once: Once, nowUs: number, counted: boolean): boolean
  remember(once: Once, nowUs: number): void
  forget(once: Once): void
}

/** How often an admission is repeated to who asks again by the same id. */
const REPEATS = 3

/** A bounded list: beyond it the oldest is forgotten. */
export function createAdmissions(most: number): Admissions {
  const known = new Map<string, { untilUs: number; repeats: number }>()
  return {
    repeat(once, nowUs, counted) {
      const admission = known.get(keyOf(once))
      if (admission === undefined || admission.untilUs <= nowUs || admission.repeats >= REPEATS) return false
      if (!counted) return true
      admission.repeats += 1
      // When the clock was set back, it is remembered for no longer than from now.
      admission.untilUs = Math.min(admission.untilUs, nowUs + once.ms * 1000)
      return true
    },
    remember(once, nowUs) {
      const key = keyOf(once)
      known.delete(key)
      const [oldest] = known.keys()
      if (known.size >= most && oldest !== undefined) known.delete(oldest)
      known.set(key, { untilUs: nowUs + once.ms * 1000, repeats: 0 })
    },
    forget: (once) => void known.delete(keyOf(once)),
  }
}

function keyOf({ owner, id }: Once): string {
  const { kind, value, scope = '' } = owner
  return `${kind} ${value.length}:${value}${homeText(owner)} ${scope.length}:${scope} ${id}`
}
