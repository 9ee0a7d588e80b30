import type { Sighting } from './model.js'
import { never, type Quota } from './quota.js'

/** How a window stands when a round is judged. */
export interface Standing {
  readonly quota: Quota
  readonly nowMs: number
  /** The latest end of the window. */
  readonly endMs: number
  readonly leastMs: number
}

/**
 * How competitors share a window without knowing each other: each sends the same small number in a round; by how
 * much more than that the level falls from one round to the next is how many there are. With fewer units
 * left than competitors, all stop until the next window.
 */
export class Rounds {
  readonly #random: () => number
  #clients = 0
  #allowed = 0
  #goAtMs = 0
  /** This round: when it began, what was sent, what the answers said. */
  #startMs: number = -never
  #sent = 0
  #least = never
  #refused = false
  /** The level after the last round, and when that began; NaN in a new window. */
  #before = Number.NaN
  #beforeMs = 0
  #opening = true
  #shutOut = 0

  constructor(random: () => number) {
    this.#random = random
  }

  get running(): boolean {
    return this.#clients > 0
  }

  /** The rounds begin, with a first guess of how many take part. */
  begin(clients: number, { units }: Quota): void {
    this.#clients = Math.max(2, Math.min(clients, units))
    this.#allowed = 0
    this.#goAtMs = 0
    this.#opening = true
    this.#shutOut = 0
    this.#reset()
  }

  end(): void {
    this.#clients = 0
  }

  /** When the next call may go; Infinity while answers of this round are to come. */
  nextMs(flying: number, standing: Standing): number {
    const { nowMs, endMs } = standing
    if (this.#allowed < 1) {
      if (flying > 0) return never
      this.#allowed = 1
      const restMs = endMs < never ? endMs : nowMs + lengthMs(standing)
      this.#goAtMs = Math.max(nowMs, restMs)
    }
    return Math.max(nowMs, this.#goAtMs)
  }

  sent(units: number, nowMs: number): void {
    if (this.#sent === 0) this.#startMs = nowMs
    this.#sent += units
    this.#allowed -= units
  }

  /** Units came back early: a window began. */
  newWindow(): void {
    this.#before = Number.NaN
  }

  /** An answer to a call of this round; judges it when it is the last. */
  answered(
    { available, refused }: Pick<Sighting, 'available' | 'refused'>,
    flying: number,
    standing: Standing,
    counted?: number,
  ): void {
    this.#least = Math.min(this.#least, available)
    this.#refused ||= refused
    if (counted !== undefined) this.#clients = Math.max(1.5, counted)
    if (flying === 0) this.#judge(standing, counted !== undefined)
  }

  #judge(standing: Standing, counted: boolean): void {
    const { quota, nowMs, endMs } = standing
    const roundMs = lengthMs(standing)
    if (!counted) this.#observe(quota.units, roundMs)
    const [level, startMs, refused] = [this.#least, this.#startMs, this.#refused]
    if (this.#opening) this.#shutOut = refused ? this.#shutOut + 1 : 0
    this.#opening = false
    this.#before = level
    this.#beforeMs = startMs
    this.#reset()
    if (refused || level < Math.max(1, this.#clients)) {
      this.#skip(standing, roundMs)
      return
    }
    const leftMs = endMs < never ? endMs - nowMs : quota.windowMs
    const roundsLeft = Math.floor(leftMs / (3 * roundMs))
    this.#allowed = Math.max(1, Math.floor(level / (this.#clients * Math.max(1, roundsLeft))))
    this.#goAtMs = Math.max(nowMs, startMs + roundMs)
  }

  /** Learns how many take part from how far the level fell since the last round. */
  #observe(most: number, roundMs: number): void {
    if (!this.#refused && this.#startMs - this.#beforeMs <= 2.2 * roundMs && this.#sent > 0) {
      const seen = (this.#before - this.#least) / this.#sent
      if (seen >= 0) this.#clients += (seen > this.#clients ? 0.5 : 0.25) * (seen - this.#clients)
    }
    this.#clients =
      this.#opening && this.#refused && this.#shutOut >= 1
        ? Math.max(this.#clients, most) * 1.2
        : Math.min(this.#clients, most)
    this.#clients = Math.max(1.5, this.#clients)
  }

  /** Nothing more in this window, and in so many later ones as leave a unit for each. */
  #skip({ nowMs, endMs, quota }: Standing, roundMs: number): void {
    const fromMs = endMs < never ? Math.max(endMs, nowMs) : nowMs + roundMs
    this.#goAtMs = fromMs + roundMs * this.#random()
    for (let lot = 0; lot < 100 && (0.95 * quota.units) / this.#clients < this.#random(); lot += 1) {
      this.#goAtMs += quota.windowMs
    }
    this.#clients *= 0.98
    this.#allowed = 1
    this.#before = Number.NaN
    this.#opening = true
  }

  #reset(): void {
    this.#sent = 0
    this.#least = never
    this.#refused = false
  }
}

/** How long a round takes: an answer must be back in it. */
function lengthMs({ quota, leastMs }: Standing): number {
  return Math.max(1.5 * leastMs + 10, Math.min(1000, quota.windowMs / 24))
}
