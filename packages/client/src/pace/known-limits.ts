import type { QuotaPolicy } from '@ratepact/contract'
import { Allowance } from './allowance.js'
import { Gate } from './gate.js'
import type { Limit, LimitKind, Surroundings } from './limit.js'
import { limitKey, type Named } from './limit-key.js'
import { PacedLimit } from './paced-limit.js'
import { RecentMap } from './recent-map.js'
import { SignalLimit } from './signal-limit.js'
import { SlotsLimit } from './slots-limit.js'
import type { Statement } from './statements.js'

const mostLimits = 1000
/** Limits without a partition key hold every unseen route, so no service may pile them up. */
const mostShared = 64

const kinds = { paced: PacedLimit, slots: SlotsLimit, signal: SignalLimit } as const

/** The limits of one partition, by name and partition key. */
export class KnownLimits {
  readonly #around: Surroundings
  readonly #given = new Map<string, Limit>()
  readonly #shared = new RecentMap<Limit>(mostShared)
  readonly #all: RecentMap<Limit>

  constructor(around: Surroundings, given: readonly QuotaPolicy[], nowMs: number) {
    this.#around = around
    this.#all = new RecentMap(mostLimits, (key) => this.#shared.delete(key))
    for (const policy of given) {
      const key = limitKey(policy)
      this.#given.set(key, this.learn({ key, named: policy, policy }, nowMs))
    }
  }

  /** The limit of a statement, made or made anew if need be, with its policy taken in. */
  learn(statement: Statement, nowMs: number): Limit {
    const { key, named, policy } = statement
    const before = this.#all.get(key) ?? this.#given.get(key)
    const kind = policy === undefined ? (before?.kind ?? 'paced') : kindOf(policy)
    const limit = before?.kind === kind ? before : this.#make(kind, named, nowMs)
    if (policy !== undefined) limit.state(policy)
    this.#all.set(key, limit)
    if (named.partitionKey === undefined) this.#shared.set(key, limit)
    if (this.#given.has(key)) this.#given.set(key, limit)
    return limit
  }

  /**
   * What holds calls of a route: the limits last stated on it, on a route without statements those without a
   * partition key; and always those that were given beforehand.
   */
  holding(keys: readonly string[] | undefined): readonly Limit[] {
    const held: Limit[] = []
    if (keys === undefined) held.push(...this.#shared.values())
    for (const key of keys ?? []) {
      const limit = this.#all.get(key)
      if (limit !== undefined) held.push(limit)
    }
    for (const limit of this.#given.values()) if (!held.includes(limit)) held.push(limit)
    return held
  }

  /** Lets go of a limit that was stated on a route of those keys and is not any more; what was given beforehand stays. */
  forget(limit: Limit, keys: readonly string[] | undefined): void {
    const key = limitKey(limit.parts.named)
    if (keys?.includes(key) !== true || this.#given.has(key) || this.#all.get(key) !== limit) return
    this.#all.delete(key)
    this.#shared.delete(key)
  }

  all(): Iterable<Limit> {
    return this.#all.values()
  }

  /** Some policies were given beforehand. */
  get anyGiven(): boolean {
    return this.#given.size > 0
  }

  #make(kind: LimitKind, named: Named, nowMs: number): Limit {
    const around = this.#around
    const gate = new Gate(around, kind === 'signal' ? new Allowance() : undefined)
    return new kinds[kind]({ named, gate, around, nowMs })
  }
}

function kindOf(policy: QuotaPolicy): LimitKind {
  if (policy.unit === 'concurrent-requests') return 'slots'
  const requests = policy.unit === 'requests' || policy.unit === 'request'
  return requests && policy.quota > 0 ? 'paced' : 'signal'
}
