import type { StoreError } from '../failure/store-error.js'
import { listOf } from '../list.js'
import type { Op, Reply } from '../store.js'
import { scriptFor } from './pack.js'
import { MOST_PER_CALL } from './routes.js'

/** An op that waits to be sent, or to be answered. A class, since there is one for each call: see `listOf`. */
export class Waiting {
  readonly op: Op
  readonly place: number
  dueMs: number
  /** Whether it has been kept back because there was no connection, or is to be sent again. */
  kept = false
  /** Whether its caller waits no longer. */
  givenUp = false
  /** How often it has been sent without being run. */
  detours = 0
  /** Whether it goes with the text of its script. */
  whole = false
  /** The node to which it was sent on, once. */
  via: string | undefined = undefined
  /** To be told to its caller. */
  readonly answered: (reply: Reply) => void
  readonly failed: (error: StoreError) => void

  constructor(
    op: Op,
    place: number,
    dueMs: number,
    answered: (reply: Reply) => void,
    failed: (error: StoreError) => void,
  ) {
    this.op = op
    this.place = place
    this.dueMs = dueMs
    this.answered = answered
    this.failed = failed
  }
}

/** Ops that one script call carries. */
export type Group = readonly [Waiting, ...Waiting[]]

/** Cuts a queue into groups that one script call can carry: of one place and one kind of script, and not too long. */
export function groupsOf(queue: readonly Waiting[]): readonly Group[] {
  const [only] = queue
  if (only !== undefined && queue.length === 1) return listOf(listOf(only))
  const groups = listOf<[Waiting, ...Waiting[]][]>()
  const last = new Map<number, [Waiting, ...Waiting[]]>()
  for (const waiting of queue) {
    const group = last.get(waiting.place)
    if (group !== undefined && group.length < MOST_PER_CALL && travelTogether(group[0], waiting))
      group.push(waiting)
    else {
      const fresh: [Waiting, ...Waiting[]] = listOf(waiting)
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
