import type { StoreError } from '../failure/store-error.js'
import type { Op, Reply } from '../store.js'
import { scriptFor } from './pack.js'
import { MOST_PER_CALL } from './routes.js'

/** An op that waits to be sent, or to be answered. */
export interface Waiting {
  readonly op: Op
  readonly place: number
  dueMs: number
  /** Whether it has been kept back because there was no connection, or is to be sent again. */
  kept: boolean
  /** Whether its caller waits no longer. */
  givenUp: boolean
  /** How often it has been sent without being run. */
  detours: number
  /** Whether it goes with the text of its script. */
  whole: boolean
  /** The node to which it was sent on, once. */
  via: string | undefined
  readonly answer: (reply: Reply) => void
  readonly fail: (error: StoreError) => void
}

/** Ops that one script call carries. */
export type Group = readonly [Waiting, ...Waiting[]]

/** Cuts a queue into groups that one script call can carry: of one place and one kind of script, and not too long. */
export function groupsOf(queue: readonly Waiting[]): readonly Group[] {
  const groups: [Waiting, ...Waiting[]][] = []
  const last = new Map<number, [Waiting, ...Waiting[]]>()
  for (const waiting of queue) {
    const group = last.get(waiting.place)
    if (group !== undefined && group.length < MOST_PER_CALL && travelTogether(group[0], waiting))
      group.push(waiting)
    else {
      const fresh: [Waiting, ...Waiting[]] = [waiting]
      last.set(waiting.place, fresh)
      groups.push(fresh)
    }
  }
  return groups
}

function travelTogether(one: Waiting, other: Waiting): boolean {
  return (
    scriptFor(one.op) === scriptFor(other.op) &&
    one.op.kind !== 'block' &&
    one.whole === other.whole &&
    one.via === other.via
  )
}
