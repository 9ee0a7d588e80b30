import type { QuotaPolicy } from '@ratepact/contract'
import { Burst } from './burst.js'
import { Limit, type LimitParts, type Reading } from './limit.js'
import { Model, type Sighting } from './model.js'
import type { OwnCall } from './own-calls.js'
import type { Flight } from './pace.js'
import { patienceMs, patientMs } from './patience.js'
import { never } from './quota.js'
import { Rounds, type Standing } from './rounds.js'
import { Sharing, togetherMs } from './sharing.js'

const tiny = 1e-6

/** A limit counted in requests: calls go as its model finds enough for them, and among others at a share of it. */
export class PacedLimit extends Limit<OwnCall> {
  readonly kind = 'paced'
  readonly #model: Model
  readonly #sharing: Sharing
  readonly #rounds: Rounds
  readonly #burst = new Burst()
  #lastSendMs: number
  /** A call went before any answer stated the limit: it was known beforehand. */
  #usedUnheard = false

  constructor(parts: LimitParts) {
    super(parts)
    const { nowMs, around } = parts
    this.#model = new Model(around.roundTrip, nowMs)
    this.#sharing = new Sharing(around.random)
    this.#rounds = new Rounds(around.random)
    this.#lastSendMs = nowMs
  }

  override state(policy: QuotaPolicy): void {
    super.state(policy)
    this.#model.promise(this.quota)
  }

  nextMs(nowMs: number, cost: number, queued: number, believeMs = 0, answerMs: number = patienceMs): number {
    const { contested, supposed } = this.#sharing
    const asks = this.gate.overrides
    if (cost === 0 || (asks && (!contested || supposed))) return nowMs
    const idle = this.flying.size === 0
    this.#model.advance(nowMs, idle)
    const asking = { nowMs, cost, queued, lastSendMs: this.#lastSendMs, contested }
    const inRounds = contested && this.#rounds.running
    const enoughMs = inRounds || asks ? nowMs : this.#model.enoughMs(asking, idle)
    // No wait is believed beyond the cap, and none lasts for ever: then one call asks.
    const capMs = this.#lastSendMs + Math.max(this.parts.around.maxBlockMs, believeMs)
    if (enoughMs > nowMs) {
      const atMs =
        enoughMs < never ? enoughMs : patientMs(this.#lastSendMs, !idle, this.#model.silent, answerMs)
      return Math.max(nowMs, Math.min(atMs, capMs))
    }
    if (!contested) return this.#aloneMs(nowMs, this.#model.heldBackMs(asking), answerMs)
    return Math.max(
      nowMs,
      Math.min(inRounds ? this.#roundMs(nowMs, answerMs) : this.#sharedMs(nowMs, queued), capMs),
    )
  }

  override spreadMs(waitMs: number): number {
    const { contested, supposed, share } = this.#sharing
    if (!contested) return 0
    const { ratePerMs, windowMs } = this.quota
    const { mode } = this.#model
    const jumps =
      mode === 'window' || (mode === 'unknown' && windowMs >= 3000 && waitMs > 1000 + 1 / ratePerMs)
    const most = jumps ? 0.15 * Math.max(1000, Math.min(windowMs, waitMs)) : 4 * waitMs
    return Math.min(supposed ? togetherMs : most, 1 / (share * ratePerMs))
  }

  protected available(): number {
    return Math.max(0, Math.floor(this.#model.units + tiny))
  }

  protected book({ sentAtMs, cost }: Flight, late: boolean): OwnCall {
    const lastSendMs = this.#lastSendMs
    if (cost > 0) this.#lastSendMs = Math.max(lastSendMs, sentAtMs)
    if (late) return this.#model.adopt(sentAtMs, cost)
    this.#model.advance(sentAtMs, this.flying.size === 0)
    if (this.gate.overrides) this.#model.edge.due()
    this.#sharing.spend(cost, sentAtMs, this.quota.ratePerMs)
    this.#rounds.sent(cost, sentAtMs)
    this.#usedUnheard ||= !this.#model.heard
    return this.#model.spend(sentAtMs, cost, lastSendMs)
  }

  protected settle({ cost }: Flight, call: OwnCall, nowMs: number, reading?: Reading): void {
    const limit = reading?.limit
    const refusedHere = reading?.refusal !== undefined
    const first = !this.#model.heard
    this.#model.advance(nowMs, this.flying.size === 0)
    this.#model.settle(call, nowMs, reading && (reading.refused ? 0 : (limit?.cost ?? cost)))
    if (limit !== undefined) {
      const seen = this.#model.learn(call, nowMs, limit, refusedHere, this.#sharing.contested)
      if (first && !this.#usedUnheard) this.#burst.begin(limit.available >= this.quota.units - 1)
      if (seen !== undefined) this.#share(seen, first)
      else if (refusedHere) this.#sharing.giveWay()
    }
    this.#model.tidy(nowMs)
  }

  #share(seen: Sighting, first: boolean): void {
    const sharing = this.#sharing
    const before = sharing.contested
    if (first) sharing.meet(seen)
    if (!first || seen.instances !== undefined) sharing.learn(seen)
    if (!sharing.contested) {
      if (before) this.#burst.restart()
      else if (!first && !seen.refused && seen.foreign < 1) this.#burst.grow()
    }
    if (!sharing.contested || !this.#model.steps) this.#rounds.end()
    if (!sharing.contested) return
    if (!this.#model.steps) sharing.settle(seen)
    else if (!sharing.supposed) {
      const { instances, began, nowMs, quota } = seen
      if (!this.#rounds.running) this.#rounds.begin(1 / sharing.share, quota)
      if (began) this.#rounds.newWindow()
      this.#rounds.answered(seen, this.flying.size, this.#standing(nowMs), instances)
    }
  }

  #standing(nowMs: number): Standing {
    const { quota } = this
    return { quota, nowMs, endMs: this.#model.edge.endMs, leastMs: this.parts.around.roundTrip.leastMs }
  }

  #aloneMs(nowMs: number, heldBackMs: number, answerMs: number): number {
    const full = this.#burst.isFull(this.flying.size)
    return Math.max(nowMs, heldBackMs, full ? this.#lastSendMs + answerMs : nowMs)
  }

  #roundMs(nowMs: number, answerMs: number): number {
    const atMs = this.#rounds.nextMs(this.flying.size, this.#standing(nowMs))
    return atMs < never ? atMs : this.#lastSendMs + answerMs
  }

  /** The last calls of a queue go at once where a share of the level covers them. */
  #sharedMs(nowMs: number, queued: number): number {
    const { units, mode } = this.#model
    if (mode === 'bucket' && queued <= 0.7 * units * this.#sharing.share) return nowMs
    return this.#sharing.nextMs(nowMs, this.quota.ratePerMs)
  }
}
