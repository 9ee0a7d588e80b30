import type { Clock } from '@ratepact/contract'
import type { Reading } from '../algorithm/meter.js'
import type { Origin } from '../receipt.js'
import type { Advance, BucketOwner, Reply } from '../store.js'
import { type LeasablePolicy, type LeaseSettings, lifeOf, mostOf } from './lease-options.js'

/** No more of what is free is taken than one part in so many, so that some is left for others. */
const SHARE = 8

/** What is sent with an account, and what a reply to it is measured by. */
export interface Account {
  readonly advance: Advance
  readonly sentMs: number
  /** Units that had not been used when it was sent. */
  readonly left: number
}

/** The time between two accounts. */
class Since implements Origin {
  readonly #holding: Holding

  constructor(holding: Holding) {
    this.#holding = holding
  }

  putBack(units: number): boolean {
    return this.#holding.putBack(units, this)
  }
}

/** Units of one bucket that this process holds ahead. */
export class Holding {
  readonly policy: LeasablePolicy
  readonly owner: BucketOwner
  readonly lifeMs: number
  /** Units that may still be used. */
  left = 0
  /** Units used that the store has not been told of. */
  spent = 0
  /** What units used since the last account come from: those used before can be given back by the store only. */
  source: Origin = new Since(this)
  /** From this instant on nothing may be used any more: twice a round trip before the store takes it back. */
  stopMs: number = Number.NEGATIVE_INFINITY
  /** The account under way. */
  asking: Promise<void> | undefined = undefined
  /** The store has not answered: what is left is used up, and nothing more is asked. */
  dying = false
  /** Forgotten meanwhile: what still comes goes back. */
  dropped = false
  /** Before this instant no more is asked, for there was none. */
  notBeforeMs: number = Number.NEGATIVE_INFINITY
  readonly #clock: Clock
  readonly #most: number
  readonly #refillBelow: number
  #endsUs = 0
  /** Units asked of this bucket since the last account, and units per ms as they have been of late. */
  #demand = 0
  #rate: number
  #askedMs: number
  /** What the store said: its time, when that came here, what it had left for others. */
  #storeUs = 0
  #cameMs = 0
  #free = 0
  /** Whether an account has been sent: until then its rate is what was seen before. */
  #isKnown = false

  constructor(
    policy: LeasablePolicy,
    owner: BucketOwner,
    settings: LeaseSettings,
    rate: number,
    clock: Clock,
  ) {
    this.#clock = clock
    this.policy = policy
    this.owner = owner
    this.lifeMs = lifeOf(policy, settings)
    this.#most = mostOf(policy, settings)
    this.#refillBelow = settings.refillBelow
    this.#rate = rate
    this.#askedMs = clock.now()
  }

  /** Whether so many units can be used now. */
  has(units: number, nowMs: number): boolean {
    return this.left >= units && nowMs < this.stopMs
  }

  use(units: number): void {
    this.left -= units
    this.spent += units
    this.#demand += units
  }

  /** Notes units that the store was asked for instead. */
  missed(units: number): void {
    this.#demand += units
  }

  /** Puts units back that were used since the last account. @returns false when the store has been told of them */
  putBack(units: number, source: Origin): boolean {
    if (source !== this.source || this.dropped || units > this.spent) return false
    if (this.#clock.now() >= this.stopMs) return false
    this.left += units
    this.spent -= units
    return true
  }

  /** What `consume` would have read: what the store had left at the last account, and what is left here. */
  reading(): Reading {
    const { policy } = this
    const used = policy.quota - Math.min(policy.quota, this.#free + this.left)
    return policy.algorithm === 'fixed-window' ? [used, this.#endsUs] : [used * policy.ticks.unit]
  }

  /** The store's time now, or a little earlier. */
  storeUs(nowMs: number): number {
    return this.#storeUs + Math.floor((nowMs - this.#cameMs) * 1000)
  }

  /** Whether more should be asked for: little is left, or half of the time has passed. */
  wantsMore(nowMs: number): boolean {
    if (this.asking !== undefined || this.dying || nowMs < this.notBeforeMs) return false
    return this.left < this.#target() * this.#refillBelow || nowMs - this.#askedMs > this.lifeMs / 2
  }

  /** Whether anything has been asked of the bucket since the last account. */
  isInUse(): boolean {
    return this.#demand > 0
  }

  /** What a partition uses in one lease. */
  #target(): number {
    return Math.min(this.#most, Math.max(2, Math.ceil(this.#rate * this.lifeMs)))
  }

  /** The account to be sent: what was used, whether the rest is kept, how much more is wanted. */
  account(keep: boolean, nowMs: number): Account {
    const elapsedMs = Math.max(nowMs - this.#askedMs, this.lifeMs / 8)
    if (this.#isKnown) this.#rate = (this.#rate + this.#demand / elapsedMs) / 2
    const { policy, owner, left, spent } = this
    const held = { endsUs: this.#endsUs, units: left + spent, spent }
    const want = keep ? Math.max(0, this.#target() - left) : 0
    this.spent = 0
    this.source = new Since(this)
    this.#isKnown = true
    this.#demand = 0
    this.#askedMs = nowMs
    if (!keep) this.left = 0
    const lastsUs = Math.round(this.lifeMs * 1000)
    return { advance: { policy, owner, held, keep, want, share: SHARE, lastsUs }, sentMs: nowMs, left }
  }

  /** Takes in what the store said. @returns unused units that it knows no more */
  settle({ readings, nowUs }: Reply, { sentMs, left, advance }: Account, cameMs: number): number {
    const [given = 0, kept = 0, endsUs = 0, inUse = 0, lost = 0] = readings[0] ?? []
    const { policy } = this
    const missing = advance.keep ? left - kept : 0
    this.left = this.dropped ? given + kept : Math.max(0, this.left + given - missing)
    this.#endsUs = endsUs
    const goodMs = (endsUs - nowUs) / 1000
    // Those of a window are good until its end, but who does not use them gives them back.
    const lifeMs = policy.algorithm === 'fixed-window' ? Math.min(goodMs, this.lifeMs) : goodMs
    this.stopMs = sentMs + lifeMs - 2 * (cameMs - sentMs)
    this.#storeUs = nowUs
    this.#cameMs = cameMs
    const units = policy.algorithm === 'fixed-window' ? inUse : inUse / policy.ticks.unit
    this.#free = Math.max(0, Math.floor(policy.quota - units))
    if (given === 0) this.notBeforeMs = cameMs + this.lifeMs / 4
    return lost === 1 ? missing : 0
  }
}
