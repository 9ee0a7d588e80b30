import type { Clock } from '@ratepact/contract'
import type { Reading } from '../algorithm/meter.js'
import type { Decision } from '../decision.js'
import { homeText } from '../home.js'
import type { Origin } from '../receipt.js'
import type { Advance, BucketOwner, Charge, Op, Reply } from '../store.js'
import type { Happening } from '../tell/teller.js'
import { createHeat } from './heat.js'
import { type Account, Holding } from './holding.js'
import { isLeasable, type LeaseSettings, lifeOf, mostOf } from './lease-options.js'

/** A call answered from what this process holds. */
export interface Leased {
  readonly readings: readonly Reading[]
  /** The store's time, by the clock of whichever server keeps each bucket. */
  readonly instants: readonly number[]
  /** Where the units of each charge come from. */
  readonly taken: readonly Origin[]
}

/** Units that this process holds ahead of the calls that will use them. */
export interface Leases {
  /** Answers a call if units of all its buckets are held, and uses them if it is to be charged. */
  find(charges: readonly Charge[], charge: boolean, nowMs: number): Leased | undefined
  /** Notes a call that the store has answered, and takes units ahead of buckets that are busy enough. */
  note(charges: readonly Charge[], decision: Decision): void
  /** Gives up what is held of some buckets: they have been reset. */
  drop(charges: readonly Charge[]): void
  /** Gives back all that is held. */
  close(): Promise<void>
}

/** So few units are not worth a lease. */
const LEAST_UNITS = 2
/** The store gives one part in so many of what is free: see Holding. */
const LEAST_FREE = 8 * LEAST_UNITS

export function createLeases(
  settings: LeaseSettings,
  ask: (op: Op) => Promise<Reply>,
  clock: Clock,
  emit: (event: Happening) => void,
): Leases {
  const holdings = new Map<string, Holding>()
  const heat = createHeat()
  let timer: unknown
  let closed = false

  function send(key: string, holding: Holding, keep: boolean): void {
    const account = holding.account(keep, clock.now())
    holding.asking = ask({ kind: 'advance', advance: account.advance })
      .then(
        (reply) => settle(key, holding, account, reply),
        () => {
          // Whether it was carried out is not known. What is left is used up in its time, and nothing more is told.
          holding.dying = true
          heat.rest(key, clock.now() + holding.lifeMs)
        },
      )
      .then(() => {
        holding.asking = undefined
        if (isOver(holding, clock.now())) forget(key, holding)
      })
  }

  function settle(key: string, holding: Holding, account: Account, reply: Reply): void {
    const nowMs = clock.now()
    const units = holding.settle(reply, account, nowMs)
    const { policy, owner } = holding
    if (units > 0 && !holding.dropped) emit({ type: 'lease-lost', policy: policy.name, owner, units })
    if (holding.dropped && holding.left > 0) giveBack(holding.account(false, nowMs).advance)
    else if (holding.left === 0) heat.rest(key, nowMs + holding.lifeMs / 4)
  }

  /** What came after it had been given up. Where that fails it comes back by itself, as after a crash. */
  function giveBack(advance: Advance): void {
    ask({ kind: 'advance', advance }).catch(() => {})
  }

  function isOver(holding: Holding, nowMs: number): boolean {
    if (holding.asking !== undefined) return false
    if (holding.dropped) return true
    return (holding.left === 0 && holding.spent === 0) || (holding.dying && nowMs >= holding.stopMs)
  }

  function forget(key: string, holding: Holding): void {
    if (holdings.get(key) === holding) holdings.delete(key)
  }

  /** Before the time of units is over, those in use are renewed and the others given back. */
  function sweep(): void {
    timer = undefined
    const nowMs = clock.now()
    for (const [key, holding] of holdings) {
      if (isOver(holding, nowMs)) forget(key, holding)
      else if (holding.asking === undefined && !holding.dying && holding.stopMs - nowMs < holding.lifeMs / 2)
        send(key, holding, holding.isInUse())
    }
    arm()
  }

  function arm(): void {
    if (timer !== undefined || closed || holdings.size === 0) return
    let shortestMs = settings.lifeMs
    for (const { lifeMs } of holdings.values()) shortestMs = Math.min(shortestMs, lifeMs)
    timer = clock.setTimeout(sweep, shortestMs / 4)
    // Units that nobody gives back come back by themselves: no reason to keep a process alive.
    ;(timer as { unref?: () => void } | undefined)?.unref?.()
  }

  function begin(key: string, { policy, owner, cost }: Charge, free: number, nowMs: number): void {
    if (!isLeasable(policy)) return
    const rate = heat.note(key, cost, lifeOf(policy, settings), nowMs)
    if (rate === undefined || free < LEAST_FREE || mostOf(policy, settings) < LEAST_UNITS || closed) return
    if (holdings.size >= settings.maxPartitions) return
    const holding = new Holding(policy, owner, settings, rate, clock)
    holdings.set(key, holding)
    send(key, holding, true)
    arm()
  }

  function use(holding: Holding, units: number, nowMs: number): void {
    holding.use(units)
    if (holding.wantsMore(nowMs)) send(keyOf(holding.policy.name, holding.owner), holding, true)
  }

  return {
    find(charges, charge, nowMs) {
      if (holdings.size === 0) return undefined
      const found: Holding[] = []
      for (const { policy, owner, cost } of charges) {
        const holding = holdings.get(keyOf(policy.name, owner))
        if (holding === undefined || holding.policy !== policy || !holding.has(cost, nowMs)) return undefined
        found.push(holding)
      }
      const readings: Reading[] = []
      const taken: Origin[] = []
      const instants: number[] = []
      for (let i = 0; i < found.length; i += 1) {
        const [holding, { cost }] = [found[i] as Holding, charges[i] as Charge]
        readings.push(holding.reading())
        taken.push(holding.source)
        instants.push(holding.storeUs(nowMs))
        if (charge) use(holding, cost, nowMs)
      }
      return { readings, instants, taken }
    },

    note(charges, decision) {
      if (decision.outcome !== 'admitted') return
      const nowMs = clock.now()
      for (const [i, charge] of charges.entries()) {
        if (charge.cost === 0) continue
        const key = keyOf(charge.policy.name, charge.owner)
        const holding = holdings.get(key)
        if (holding === undefined) begin(key, charge, decision.limits[i]?.available ?? 0, nowMs)
        else if (holding.policy === charge.policy) {
          holding.missed(charge.cost)
          if (holding.wantsMore(nowMs)) send(key, holding, true)
        }
      }
    },

    drop(charges) {
      for (const { policy, owner } of charges) {
        const key = keyOf(policy.name, owner)
        const holding = holdings.get(key)
        if (holding === undefined) continue
        holding.dropped = true
        holding.left = 0
        holding.spent = 0
        holdings.delete(key)
      }
    },

    async close() {
      closed = true
      if (timer !== undefined) clock.clearTimeout(timer)
      const all = [...holdings]
      await Promise.all(all.map(([, { asking }]) => asking))
      for (const [key, holding] of all) if (holdings.has(key) && !holding.dying) send(key, holding, false)
      await Promise.all(all.map(([, { asking }]) => asking))
      holdings.clear()
    },
  }
}

/** One text per bucket. Lengths go before what callers choose, so that no two buckets share one. */
function keyOf(policy: string, owner: BucketOwner): string {
  const { kind, value, scope = '' } = owner
  return `${policy} ${homeText(owner)}${kind} ${value.length}:${value}${scope}`
}
