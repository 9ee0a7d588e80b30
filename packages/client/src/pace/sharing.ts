import type { Sighting } from './model.js'
import type { Quota } from './quota.js'
import type { Mode } from './votes.js'

/** The least share that a client keeps: more gives way less to rude neighbours, and serves fewer clients well. */
const leastShare = 0.02
/** Within this time those return who were refused when they began, if they cannot tell how many they are. */
export const togetherMs = 2000

/**
 * Whether others use the same quota, and how much of it to use then. Nobody knows of the others; but all see what is
 * left. Each lets its rate follow that level by the same law, so that they meet at equal shares, and the level rests a
 * few units above 0, where nobody is refused.
 */
export class Sharing {
  /** Others use the quota, too. */
  contested = false
  share = 1
  /** Others are supposed, because the first call was refused, and nothing more is known. */
  supposed = false
  readonly #random: () => number
  #credit = 1
  #mostCredit = 1
  #creditAtMs = 0
  #foreign = 0
  #foreignAtMs = 0
  /** Units that were in use when the limit was met, and when that was. */
  #usedBefore = 0
  #metMs = 0
  #suspect = false
  #quiet = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** The first answer that states the limit. */
  meet({
    quota,
    available,
    refused,
    nowMs,
  }: Pick<Sighting, 'quota' | 'available' | 'refused' | 'nowMs'>): void {
    this.#metMs = nowMs
    this.#usedBefore = Math.max(0, quota.units - available - (refused ? 0 : 1))
    this.supposed = refused && quota.ratePerMs > 0
    if (this.supposed) this.#enter(Math.max(8, 2 * quota.units), nowMs)
  }

  /** Weighs an answer that is not too old to count. */
  learn(seen: Sighting): void {
    const { quota, instances } = seen
    if (quota.ratePerMs === 0) return
    this.#age(seen)
    if (this.supposed && !seen.refused) this.#suppose(seen)
    if (instances !== undefined) {
      if (instances <= 1) this.contested = false
      else if (!this.contested) this.#enter(instances, seen.nowMs)
    } else if (this.contested) this.#doubt(seen)
    else this.#notice(seen)
  }

  /** The level law: an answer moves the share towards what the level tells. */
  settle({ quota, mode, available, refused, instances }: Sighting): void {
    const rest = restingLevel(quota, mode)
    const rolls = quota.refill === 'log' || quota.refill === 'counter'
    if (instances !== undefined) {
      const factor = refused ? 0.6 : clamp(1 + 0.3 * (Math.min(2, available / rest) - 1), 0.6, 1.3)
      this.share = Math.min(1, factor / instances)
      return
    }
    if (refused) this.share *= 0.7
    else {
      // With nobody else about, a window is empty only because it is used up: that is no reason to use less of it.
      if (mode !== 'bucket' && this.#quiet > quietAnswers(quota)) return
      const full = isFull(quota, available)
      const pull = Math.max(full ? 1.3 : 0, Math.min(rolls ? 1 : 2.5, available / rest))
      this.share *= Math.exp(0.4 * (pull - this.share / (this.share + 0.06)))
      if (full && mode === 'bucket') this.share *= 1.3
    }
    this.#mostCredit = 1
    if (mode === 'bucket' && !refused && available > rest + 2) {
      this.#credit += 0.5 * (available - rest) * this.share
      this.#mostCredit = Math.max(1, (available - rest) * this.share)
    }
    this.share = clamp(this.share, leastShare, 1)
  }

  /** A refusal that is too old to tell anything else. */
  giveWay(): void {
    if (this.contested) this.share = Math.max(leastShare, 0.7 * this.share)
  }

  /** When a share of the rate lets a call go. */
  nextMs(nowMs: number, ratePerMs: number): number {
    this.#earn(nowMs, ratePerMs)
    return this.#credit >= 1 - 1e-9 ? nowMs : nowMs + (1 - this.#credit) / (this.share * ratePerMs)
  }

  spend(units: number, nowMs: number, ratePerMs: number): void {
    if (!this.contested) return
    this.#earn(nowMs, ratePerMs)
    this.#credit = Math.max(-1e9, this.#credit - units)
  }

  /** Others are sure to be about: as many as that, oneself included. */
  #enter(clients: number, nowMs: number): void {
    this.contested = true
    this.share = clamp(1 / clients, leastShare, 1)
    this.#credit = this.#random()
    this.#mostCredit = 1
    this.#creditAtMs = nowMs
    this.#quiet = 0
    this.#suspect = false
  }

  /**
   * The first accepted call tells how many others there may be: as many as let the level rest where it is, and no more
   * than were refused together, if one of them finds a unit.
   */
  #suppose({ quota, mode, available }: Sighting): void {
    this.supposed = false
    if (isFull(quota, available)) {
      this.contested = false
      return
    }
    const pull = available / restingLevel(quota, mode)
    const most = 1 + Math.min(togetherMs * quota.ratePerMs, 1 / this.share)
    const least = Math.max(0.05, 1 / most)
    this.share = pull < 1 ? clamp((0.06 * pull) / (1 - pull), least, 1) : 1
  }

  #age({ quota, nowMs, foreign }: Sighting): void {
    const memoryMs = 5 * Math.max(quota.windowMs, 10 / quota.ratePerMs)
    this.#foreign = this.#foreign * Math.exp((this.#foreignAtMs - nowMs) / memoryMs) + foreign
    this.#foreignAtMs = nowMs
  }

  #notice({ quota, mode, nowMs, refused, unexplained, own, jitterMs }: Sighting): void {
    const counter = quota.refill === 'counter'
    const young = nowMs - this.#metMs < quota.windowMs
    const limit =
      1 +
      (mode === 'bucket' ? 2 * quota.ratePerMs * jitterMs : 0) +
      (counter ? 2 : 0) +
      (young ? this.#usedBefore : 0)
    const much = unexplained >= limit
    const found =
      (refused && unexplained >= 1) ||
      (mode === 'bucket' && !counter && this.#foreign >= 2) ||
      (mode === 'window' && this.#foreign >= 1.5 && unexplained >= 1) ||
      (much && (young || this.#suspect || unexplained >= limit + 2))
    this.#suspect = much
    // A refusal is proof of one at least. Among many who begin at once each has hardly sent anything itself.
    const others = Math.max(refused ? 1 : 0, unexplained / Math.max(1, own))
    if (found) this.#enter(1 + others, nowMs)
  }

  #doubt({ quota, refused, unexplained }: Sighting): void {
    if (refused) return
    this.#quiet = unexplained < (quota.refill === 'counter' ? 2.5 : 1.5) ? this.#quiet + 1 : 0
    if (this.#quiet <= quietAnswers(quota)) return
    this.share = Math.min(1, 1.3 * this.share)
    if (this.share < 1) return
    this.contested = false
  }

  #earn(nowMs: number, ratePerMs: number): void {
    const earned = this.share * ratePerMs * Math.max(0, nowMs - this.#creditAtMs)
    this.#credit = Math.min(this.#mostCredit, this.#credit + earned)
    this.#creditAtMs = nowMs
  }
}

/** Where the level shall rest, in units: low enough to waste little, high enough that hardly anybody is refused. */
function restingLevel({ units, refill }: Quota, mode: Mode): number {
  const bucket = mode === 'bucket'
  const most = Math.min(units * (bucket ? 0.6 : 0.5), bucket ? 9 : 5)
  const rest = Math.max(most, Math.min(units / 5, 12))
  return refill === 'log' || refill === 'counter' ? Math.min(2, rest) : rest
}

/** The call found about as much as there can be: others hardly use it. Of a quota of one nothing else can be seen. */
function isFull({ units }: Quota, available: number): boolean {
  return available > Math.min(0.7 * units, units - 1.5)
}

/** So many answers that show nobody else may be chance; of a small quota fewer tell as much. */
function quietAnswers({ units }: Quota): number {
  return Math.min(8, 2 + units)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
