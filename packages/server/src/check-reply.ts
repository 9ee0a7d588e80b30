import type { Reading } from './algorithm/meter.js'
import { NONE } from './list.js'
import type { Reply, TrialReply } from './store.js'

/** What a store says of a check, by the clock of one server. A class, since there is one for each call: see `listOf`. */
export class CheckReply implements Reply {
  readonly nowUs: number
  readonly admitted: boolean
  readonly blockedUs: number
  readonly replayed: boolean
  readonly readings: readonly Reading[]
  readonly healed: readonly number[]
  declare instances?: readonly number[]
  declare trials?: readonly TrialReply[]

  constructor(
    nowUs: number,
    admitted: boolean,
    readings: readonly Reading[],
    blockedUs = 0,
    replayed = false,
    healed: readonly number[] = NONE,
  ) {
    this.nowUs = nowUs
    this.admitted = admitted
    this.blockedUs = blockedUs
    this.replayed = replayed
    this.readings = readings
    this.healed = healed
  }
}

/** What a store says of a trial. */
export class Tried implements TrialReply {
  readonly readings: readonly Reading[]
  readonly taken: boolean

  constructor(readings: readonly Reading[], taken: boolean) {
    this.readings = readings
    this.taken = taken
  }
}
