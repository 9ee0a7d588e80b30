import type { Clock } from '@ratepact/contract'
import { homeText } from '../home.js'
import { openMemory } from '../memory/store.js'
import type { Policy } from '../policy.js'
import { type Receipt, receiptOf } from '../receipt.js'
import type { Change, Charge, Op, Reply } from '../store.js'
import { type BoundedMap, createBoundedMap } from './bounded-map.js'
import { bucketKey } from './bucket-key.js'
import { createDebts } from './debts.js'
import { type Known, shareState } from './known.js'
import { createRepayment } from './repay.js'
import { createShares } from './share.js'

type Check = Extract<Op, { readonly kind: 'consume' | 'peek' }>

/** Counts calls in this process while the store cannot be asked. */
export interface Local {
  /** Notes what the store said of a check. */
  learn(op: Check, reply: Reply): void
  /**
   * Decides a check by this process's share.
   * @param unpaid whether the store certainly has not charged it, and is to when it can be asked again
   * @returns undefined when it costs more than the share ever allows at once
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
  readonly reply: Reply
  readonly receipt: Receipt | undefined
}

/** Beyond so many buckets the ones that matter least are forgotten: an outage must not fill the memory. */
const MOST_KNOWN = 100_000

export function createLocal(clock: Pick<Clock, 'now'>, ask: (op: Op) => Reply | Promise<Reply>): Local {
  // Time goes by the store's clock as it was last heard, so that windows are those of the store.
  let aheadMs = Date.now() - clock.now()
  const nowMs = () => clock.now() + aheadMs
  const nowUs = () => Math.round(nowMs() * 1000)
  const memory = openMemory({ maxBuckets: MOST_KNOWN, clock: { now: nowMs } })
  const shareOf = createShares()
  const known = createBoundedMap<Known>(MOST_KNOWN)
  const blocks = createBoundedMap<number>(MOST_KNOWN)
  const debts = createDebts(MOST_KNOWN)

  /** A bucket that the store spoke of since this process last counted it goes on from there. */
  function recall(charge: Charge, share: Policy): void {
    if (known.size === 0) return
    const key = bucketKey(charge)
    const last = known.get(key)
    if (last === undefined) return
    known.delete(key)
    memory.put({ policy: share, owner: charge.owner }, shareState(last, share, nowUs()))
  }

  /** Does to what was granted here what is done with it later, and keeps account of it for the store. */
  function effect(op: Op, charges: readonly Charge[], unpaid: boolean, round: number): Reply {
    const [reply] = memory.run([op]) as [Reply]
    if (!unpaid) return reply
    if (debts.round === round) {
      if (op.kind === 'adjust') for (const change of op.changes) owe(change, charges, 0)
      return reply
    }
    // It may have been charged since: then the store has to change it, where it can.
    const changes = op.kind === 'adjust' ? op.changes : []
    const possible = changes.map((change) => {
      const whole = wholeOf(change.policy, charges)
      return whole && repayment.canChange({ ...change, policy: whole })
    })
    for (const [i, change] of changes.entries())
      if (possible[i] !== false) owe(change, charges, Number.NEGATIVE_INFINITY)
    repayment.begin()
    if (changes.length === 0) return reply
    return { ...reply, admitted: possible.some((can) => can ?? reply.admitted) }
  }

  function owe(change: Change, charges: readonly Charge[], least: number): void {
    const { policy, owner, mark, units } = change
    const whole = wholeOf(policy, charges)
    if (whole !== undefined) debts.add(whole, policy, owner, mark, units, nowUs(), least)
  }

  const repayment = createRepayment(debts, ask, nowUs)

  return {
    repay: repayment.begin,
    repayFor: repayment.payFor,
    learn(op, reply) {
      aheadMs = reply.nowUs / 1000 - clock.now()
      noteBlock(blocks, callersOf(op.charges), reply)
      const taken = op.kind === 'consume' && reply.admitted && !reply.replayed
      for (const [i, charge] of op.charges.entries()) {
        const key = bucketKey(charge)
        const { policy, cost } = charge
        known.set(key, {
          policy,
          reading: reply.readings[i] ?? [],
          taken: taken ? cost : 0,
          nowUs: reply.instants?.[i] ?? reply.nowUs,
        })
      }
    },
    decide(op, instances, unpaid) {
      const blockedUs = (blocks.get(callersOf(op.charges)) ?? 0) - nowUs()
      if (blockedUs > 0) return blocked(op, nowUs(), blockedUs)
      const charges = op.charges.map((charge) => ({ ...charge, policy: shareOf(charge.policy, instances) }))
      if (charges.some(({ policy, cost }) => cost > policy.quota)) return undefined
      for (const [i, charge] of op.charges.entries()) recall(charge, charges[i]?.policy ?? charge.policy)
      const consumes = op.kind === 'consume'
      const once = consumes && op.once !== undefined ? { once: op.once } : {}
      const [reply] = memory.run([
        consumes
          ? { kind: 'consume', charges, lease: op.lease, blocks: [], ...once }
          : { kind: 'peek', charges, blocks: [] },
      ]) as [Reply]
      if (!consumes || !reply.admitted || reply.replayed) return { charges, reply, receipt: undefined }
      const receipt = receiptOf(charges, reply, op.lease)
      if (unpaid)
        for (const [i, { policy, owner, cost }] of charges.entries())
          owe({ policy, owner, units: cost, mark: receipt.marks[i]?.mark ?? 0, top: 0 }, op.charges, 0)
      const { round } = debts
      const via = (later: Op) => effect(later, op.charges, unpaid, round)
      return { charges, reply, receipt: { ...receipt, via, once: op.once } }
    },
  }
}

/** The policy of which one is this process's share. */
function wholeOf({ name }: Policy, charges: readonly Charge[]): Policy | undefined {
  return charges.find(({ policy }) => policy.name === name)?.policy
}

/** Everybody that a call is counted for. A block of any of them was a block of all of them together. */
function callersOf(charges: readonly Charge[]): string {
  return charges
    .map(({ owner }) => `${homeText(owner)}${owner.kind} ${owner.value.length}:${owner.value}`)
    .join(' ')
}

function noteBlock(blocks: BoundedMap<number>, callers: string, { nowUs, blockedUs }: Reply): void {
  if (blocks.size > 0) blocks.delete(callers)
  if (blockedUs <= 0) return
  blocks.set(callers, nowUs + blockedUs)
}

function blocked({ charges }: Check, nowUs: number, blockedUs: number): LocalReply {
  const reply = { nowUs, admitted: false, blockedUs, replayed: false, readings: [], healed: [] }
  return { charges, reply, receipt: undefined }
}
