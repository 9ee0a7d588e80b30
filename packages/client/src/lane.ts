import { Sorted } from './sorted.js'
import type { Waiter } from './turn.js'

/** A limit that holds the calls of a lane, as far as that decides how fast they can go. */
export interface Holding {
  readonly key: string
  readonly quota: number
  /** The time in which a whole quota comes back; Infinity = unknown. */
  readonly windowMs: number
}

/** The waiting calls of one route: the first holds back the rest, whatever other routes do. */
export class Lane {
  readonly order: Sorted<Waiter> = inOrder()
  readonly deadlines: Sorted<Waiter> = new Sorted(
    (a, b) => a.deadlineMs - b.deadlineMs || a.arrival - b.arrival,
  )
  holding: readonly Holding[]

  constructor(holding: readonly Holding[] = []) {
    this.holding = holding
  }
}

export function inOrder(): Sorted<Waiter> {
  return new Sorted(goesFirst, ({ cost }) => cost)
}

/** By priority, among equals by place, which is that of arrival as long as all calls have one key. */
export function goesFirst(a: Waiter, b: Waiter): number {
  return b.priority - a.priority || a.place - b.place || a.arrival - b.arrival
}
