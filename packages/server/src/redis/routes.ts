import type { StoreError } from '../failure/store-error.js'
import type { Op } from '../store.js'
import type { Connection } from './connection.js'
import { type Detour, detourOf } from './detour.js'

/** Where ops go: to the one server that there is, or each to its node of a cluster. */
export interface Routes {
  /** The longest queue that is not sent before its turn ends. */
  readonly most: number
  /** Ops of one place can travel in one call. */
  placeOf(op: Op): number
  /**
   * The connection that serves a place, when it can be written to now.
   * @param via the node to which a call was sent on, where it was
   */
  at(place: number, via: string | undefined): Connection | undefined
  /** What to do about a call that was refused so that it certainly did not run; undefined of any other error. */
  detour(error: unknown): Detour | undefined
  /** The nodes that have places, by name; none where the nodes are nobody's business but the client's. */
  nodes(): readonly string[]
  /** Which of them has a place; undefined where none has, or none is known. */
  nodeOf(place: number): string | undefined
  /** Which part of the cluster a place belongs to, in words: all whose master is one. Undefined where that is not known. */
  partOf(place: number): string | undefined
  /** Why a place cannot be reached, as far as that is known. */
  trouble(place: number): Error | undefined
  /** A place answers that it cannot serve, and may be served elsewhere by now. */
  troubled(place: number, error: StoreError): void
  close(): void
}

/** More in one script call gain little, and block Redis for longer. */
export const MOST_PER_CALL = 32
/** Answers of a server that will go on giving them, while another may be at the address by now. */
export const OF_NO_USE: readonly unknown[] = ['READONLY', 'MASTERDOWN', 'NOAUTH']

/** The routes to one server, or through a client that finds its own. */
export function oneServer(connection: Connection): Routes {
  return {
    most: MOST_PER_CALL,
    placeOf: () => 0,
    at: () => (connection.ready() ? connection : undefined),
    detour(error) {
      const detour = detourOf(error)
      return detour?.to === 'same' ? detour : undefined
    },
    nodes: () => [],
    nodeOf: () => undefined,
    partOf: () => undefined,
    trouble: () => connection.trouble(),
    troubled(_, { code }) {
      if (OF_NO_USE.includes(code)) connection.replace()
    },
    close: () => connection.close(),
  }
}
