import { type Cost, expectCost } from './cost.js'
import type { Decision } from './decision.js'
import { show } from './expect.js'
import type { Policy } from './policy.js'
import { bringReceiptTo, changesTo, heldBy, Receipt, restOf } from './receipt.js'
import type { Op, Reply } from './store.js'
import { createTag } from './tag.js'

/** What can be done with an admission after it was made. */
export interface Effects<Name extends string> {
  /** Notes what a decision charged; without a receipt, nothing. */
  remember(decision: Decision<Name>, receipt?: Receipt): void
  refund(decision: Decision<Name>, units?: Cost<Name>): Promise<boolean>
  settle(decision: Decision<Name>, actualCost: Cost<Name>): Promise<boolean>
  release(decision: Decision<Name>): Promise<boolean>
  renew(decision: Decision<Name>): Promise<boolean>
}

/** Of a decision that charged nothing there is nothing to give back. */
const NOTHING = new Receipt([], { readings: [], nowUs: 0 }, '', undefined, undefined, true)

export function createEffects<Name extends string>(
  ask: (op: Op, via: Receipt['via']) => Promise<Reply>,
  policies: readonly Policy[],
  failed: (error: unknown) => void,
): Effects<Name> {
  // What was charged is known by the decision itself, for as long as somebody holds it.
  const receipts = createTag<Receipt>()

  function receiptFor(decision: unknown): Receipt | undefined {
    const receipt = typeof decision === 'object' && decision !== null ? receipts.get(decision) : undefined
    if (receipt === undefined)
      throw new TypeError(`Expected a decision that this limiter made by consume, got ${show(decision)}`)
    return receipt.closed ? undefined : receipt
  }

  /** A store that cannot be asked is told of as everywhere; there is nobody here who could wait for it. */
  async function carryOut(op: Op, { via }: Receipt): Promise<boolean> {
    try {
      return (await ask(op, via)).admitted
    } catch (error) {
      failed(error)
      return false
    }
  }

  /**
   * Does the same to what was charged, and to what was charged along with it to policies that are only tried, which has
   * no say in what came of it. All of it leaves in one turn.
   * @param ends whether nothing is left charged, or the places are free again: then the admission is repeated to nobody
   * any more, for that would be a call that nothing counts
   */
  async function toBoth(
    receipt: Receipt,
    act: (one: Receipt) => Promise<boolean>,
    ends = false,
  ): Promise<boolean> {
    const { tried, once } = receipt
    const forgotten = ends && once !== undefined && carryOut({ kind: 'reset', charges: [], once }, receipt)
    const [done] = await Promise.all([act(receipt), tried && act(tried), forgotten])
    return done
  }

  async function bringTo(receipt: Receipt, costs: number[]): Promise<boolean> {
    const { changes, put } = changesTo(receipt, costs)
    bringReceiptTo(receipt, costs)
    return (changes.length > 0 && (await carryOut({ kind: 'adjust', changes }, receipt))) || put
  }

  /** Places are given back with the decision, whatever part of it was counted. */
  async function giveBackPlaces(receipt: Receipt): Promise<boolean> {
    const charges = heldBy(receipt)
    return charges.length > 0 && (await carryOut({ kind: 'release', charges, lease: receipt.lease }, receipt))
  }

  return {
    remember(decision, receipt = NOTHING) {
      receipts.put(decision, receipt)
    },
    async refund(decision, units) {
      expectCost(units, policies, 'the units to give back')
      const receipt = receiptFor(decision)
      if (receipt === undefined) return false
      const leftOf = (one: Receipt) =>
        one.charges.map(({ policy }, i) => {
          const now = restOf(one).left[i] ?? 0
          return units === undefined ? 0 : Math.max(0, now - namedUnits(units, policy, 0))
        })
      // Where nothing decides, the decision is open for as long as what is tried has anything left.
      const decides = receipt.charges.length > 0 ? receipt : (receipt.tried ?? receipt)
      if (leftOf(decides).every((cost) => cost === 0)) receipt.closed = true
      const giveBack = async (one: Receipt) => {
        const given = await bringTo(one, leftOf(one))
        return (receipt.closed && (await giveBackPlaces(one))) || given
      }
      return toBoth(receipt, giveBack, receipt.closed)
    },
    async settle(decision, actualCost) {
      if (actualCost === undefined) throw new TypeError('Expected the actual cost of the call, got undefined')
      expectCost(actualCost, policies, 'the actual cost')
      const receipt = receiptFor(decision)
      if (receipt === undefined) return false
      receipt.closed = true
      const costsOf = (one: Receipt) =>
        one.charges.map(({ policy }, i) => namedUnits(actualCost, policy, restOf(one).left[i] ?? 0))
      const settle = async (one: Receipt) => {
        const settled = await bringTo(one, costsOf(one))
        return (await giveBackPlaces(one)) || settled
      }
      const costsNothing = costsOf(receipt).every((cost) => cost === 0)
      return toBoth(receipt, settle, costsNothing || heldBy(receipt).length > 0)
    },
    async release(decision) {
      const receipt = receiptFor(decision)
      if (receipt === undefined) return false
      receipt.closed = true
      return toBoth(receipt, giveBackPlaces, heldBy(receipt).length > 0)
    },
    async renew(decision) {
      const receipt = receiptFor(decision)
      if (receipt === undefined) return false
      return toBoth(receipt, async (one) => {
        const charges = heldBy(one)
        return charges.length > 0 && carryOut({ kind: 'renew', charges, lease: one.lease }, one)
      })
    },
  }
}

/** The units that are said of a policy: by name, or as a number that is meant for all that count requests. */
function namedUnits(units: Cost, policy: Policy, otherwise: number): number {
  if (typeof units === 'number') return policy.unit === 'requests' ? units : otherwise
  return Object.hasOwn(units, policy.name) ? (units[policy.name] ?? otherwise) : otherwise
}
