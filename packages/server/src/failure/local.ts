import type { Clock } from '@ratepact/contract'
import type { Check } from '../call.js'
import { type Holder, shareOf } from '../memory/ledger.js'
import { openMemory } from '../memory/store.js'
import { markOf, Receipt } from '../receipt.js'
import type { Change, Charge, Op, Reply } from '../store.js'
import { createBlocked } from './blocked.js'
import { createBoundedMap } from './bounded-map.js'
import { bucketKey } from './bucket-key.js'
import { createDebts, type Debt, isOpen, standingOf } from './debts.js'
import { changedBy, type Known, shareState, usedPart } from './known.js'
import { createRepayment } from './repay.js'
import { createShares } from './share.js'

/** Counts calls in this process while the store cannot be asked. */
export interface Local {
  /** Notes what the store said of a check. */
  learn(op: Check, reply: Reply): void
  /** Notes what this process had the store change. */
  changed(op: Op): void
  /**
   * Decides a check by this process's share.
   * @param unpaid whether the store certainly has not charged it, and is to when it can be asked again
   * @returns undefined when it costs more than the share ever allows at once, or there is no room to note it
   */
  decide(op: Check, instances: number, unpaid: boolean): LocalReply | undefined
  /** The store can be asked: what it has not charged is charged now. */
  repay(): void
  /** The same for some buckets, about which it is asked next. */
  repayFor(charges: readonly Charge[]): void
}

export interface LocalReply {
  /** The charges by the policies of the share. */
  readonly charges: readonly Charge[]
  /** The quotas of which those are shares. */
  readonly quotas: readonly number[]
  readonly reply: Reply
  readonly receipt: Receipt | undefined
}

/** What the store would have charged, and what it is noted as. */
interface Granted extends Pick<Debt, 'policy' | 'share' | 'owner'> {
  /** The bucket in which it was granted. */
  readonly key: string
  readonly debt: Debt | undefined
}

/** Beyond so many buckets the ones that matter least are forgotten: an outage must not fill the memory. */
const MOST_KNOWN = 100_000

/** @param wholeOf the bucket of a whole partition, of which the store may keep one shard in another */
export function createLocal(
  clock: Pick<Clock, 'now'>,
  ask: (op: Op) => Reply | Promise<Reply>,
  wholeOf: <T extends Holder>(bucket: T) => T,
): Local {
  // Time goes by the store's clock as it was last heard, so that windows are those of the store.
  let aheadMs = Date.now() - clock.now()
  const nowMs = () => clock.now() + aheadMs
  const nowUs = () => Math.round(nowMs() * 1000)
  const memory = openMemory({ maxBuckets: MOST_KNOWN, clock: { now: nowMs } })
  const shareFor = createShares()
  const known = createBoundedMap<Known>(MOST_KNOWN, { worthOf: (one) => usedPart(one, nowUs()) })
  const blocks = createBlocked(MOST_KNOWN)
  const debts = createDebts(MOST_KNOWN, nowUs)

  /** A bucket that the store spoke of since this process last counted it goes on from there. */
  function recall(bucket: Holder): void {
    if (known.size === 0) return
    const key = bucketKey(bucket)
    const last = known.get(key)
    if (last === undefined) return
    known.delete(key)
    const { policy: share } = bucket
    const before = last.owed ? memory.usedPart(bucket) : 0
    const said = shareState(last, share, nowUs())
    // What the store has not been told of cannot be in what it says.
    if (before > 0 && (said === undefined || before >= shareOf(said, nowUs(), share))) return
    memory.put(bucket, said)
  }

  /** @returns undefined when all room is taken by places that are held */
  function check(op: Check): Reply | undefined {
    try {
      for (const charge of op.charges) recall(charge)
      return memory.run([op])[0]
    } catch (error) {
      if (error instanceof RangeError) return undefined
      throw error
    }
  }

  /** Does to what was granted here what is done with it later, and keeps account of it for the store. */
  function effect(op: Op, granted: readonly Granted[]): Reply {
    const [reply] = memory.run([op]) as [Reply]
    if (op.kind !== 'adjust' || granted.length === 0) return reply
    const changed = op.changes.map((change) => {
      const before = granted.find(({ policy }) => policy.name === change.policy.name)
      if (before?.debt === undefined) return false
      if (change.units < 0) return debts.giveBack(before.debt, change)
      owe(before, change)
      return isOpen(change.policy, change.mark, nowUs())
    })
    if (granted.some(({ debt }) => debt !== undefined && standingOf(debt).state === 'paid')) repayment.begin()
    return { ...reply, admitted: changed.includes(true) }
  }

  function owe(
    { policy, share, owner, key }: Omit<Granted, 'debt'>,
    part: Pick<Change, 'mark' | 'units'>,
  ): Debt | undefined {
    return debts.add(policy, share, owner, key, part)
  }

  const repayment = createRepayment(debts, ask, nowUs)

  return {
    repay: repayment.begin,
    repayFor: repayment.payFor,
    learn(op, reply) {
      aheadMs = reply.nowUs / 1000 - clock.now()
      blocks.learn(op.blocks, reply.blockedUs > 0 ? reply.nowUs + reply.blockedUs : undefined)
      const taken = op.kind === 'consume' && reply.admitted && !reply.replayed
      for (const [i, charge] of op.charges.entries()) {
        // The places of calls that run here stay taken, whatever others hold.
        if (charge.policy.algorithm === 'concurrency') continue
        const key = bucketKey(wholeOf(charge))
        const { policy, cost } = charge
        known.set(key, {
          policy,
          reading: reply.readings[i] ?? [],
          taken: taken ? cost : 0,
          nowUs: reply.instants?.[i] ?? reply.nowUs,
          owed: debts.owes(key),
        })
      }
    },
    changed(op) {
      switch (op.kind) {
        case 'block':
          blocks.set(
            op.blocks,
            op.ms === 'none'
              ? undefined
              : nowUs() + (op.ms === 'forever' ? Number.POSITIVE_INFINITY : op.ms * 1000),
          )
          return
        case 'reset':
          for (const charge of op.charges) {
            for (const debt of debts.takeOf(charge)) debts.lose(debt)
            const whole = wholeOf(charge)
            known.delete(bucketKey(whole))
            memory.put(whole, undefined)
          }
          return
        case 'adjust':
          for (const change of op.changes) {
            const key = bucketKey(wholeOf(change))
            const last = known.get(key)
            // What is known of another shard is as true as it was.
            if (last?.policy === change.policy) known.set(key, changedBy(last, change, nowUs()))
          }
      }
    },
    decide(op, instances, unpaid) {
      const blockedUs = blocks.untilUs(op.blocks) - nowUs()
      if (blockedUs > 0) return blocked(op, nowUs(), blockedUs)
      const wholes = op.charges.map(wholeOf)
      const charges = wholes.map((whole) => ({ ...whole, policy: shareFor(whole.policy, instances) }))
      if (charges.some(({ policy, cost }) => cost > policy.quota)) return undefined
      const once = op.kind === 'consume' && op.once !== undefined ? { once: op.once } : {}
      const reply = check(
        op.kind === 'consume'
          ? { kind: 'consume', charges, lease: op.lease, blocks: [], ...once }
          : { kind: 'peek', charges, blocks: [] },
      )
      if (reply === undefined) return undefined
      const quotas = wholes.map(({ policy }) => policy.quota)
      if (op.kind !== 'consume' || !reply.admitted || reply.replayed)
        return { charges, quotas, reply, receipt: undefined }
      const receipt = new Receipt(charges, reply, op.lease)
      // What may have been charged is not charged again.
      const unpaidCharges = unpaid ? op.charges : []
      const granted = unpaidCharges.map(({ policy, owner, cost }, i): Granted => {
        const key = bucketKey(charges[i] as Charge)
        const asked = { policy, share: shareFor(policy, instances), owner, key }
        return {
          ...asked,
          debt: owe(asked, { units: cost, mark: markOf(charges[i] as Charge, i, reply).mark }),
        }
      })
      const via = (later: Op) => effect(later, granted)
      return { charges, quotas, reply, receipt: { ...receipt, ...once, via } }
    },
  }
}

function blocked({ charges }: Check, nowUs: number, blockedUs: number): LocalReply {
  const reply = { nowUs, admitted: false, blockedUs, replayed: false, readings: [], healed: [] }
  return { charges, quotas: [], reply, receipt: undefined }
}
