import { meterOf } from '../algorithm/algorithms.js'
import { markOf } from '../receipt.js'
import type { Charge, Op, Reply } from '../store.js'
import { changesOf, type Debt, type Debts, openUnits } from './debts.js'
import { asStoreError } from './store-error.js'

/** So many debts are paid at a time: as many as travel in one call of a script. */
const AT_ONCE = 32

/**
 * Charges to the store what was granted without it, apart from any request. What fails before it can have been
 * carried out is tried again the next time; what may have been is not.
 */
export interface Repayment {
  /** Begins with all, if there is anything to do and it is not being done. */
  begin(): void
  /** Pays for these buckets now, so that whoever asks for them next finds it charged. */
  payFor(charges: readonly Charge[]): void
}

export function createRepayment(
  debts: Debts,
  ask: (op: Op) => Reply | Promise<Reply>,
  nowUs: () => number,
): Repayment {
  let paying = false

  async function run(): Promise<void> {
    // One to see whether the store is back, then many at a time.
    for (let most = 1; debts.size > 0; most = AT_ONCE) {
      const paid = await Promise.all(debts.take(most).map(pay))
      if (paid.includes(false)) return
    }
  }

  /** @returns whether the store could be asked */
  async function pay(debt: Debt): Promise<boolean> {
    try {
      const changes = changesOf(debt, nowUs())
      const changed = changes.length > 0 && (await ask({ kind: 'adjust', changes })).admitted
      const chargedAt = !changed && isForConsume(debt) ? await consume(debt) : undefined
      debts.paid(debt, chargedAt)
      return true
    } catch (error) {
      if (asStoreError(error).mayHaveRun) debts.lose(debt)
      else debts.putBack(debt)
      return false
    }
  }

  /**
   * Charges as a call would: a log has no call to be changed, and a window of a client's own may not have begun.
   * @returns where it was charged; nowhere if it was not
   */
  async function consume(debt: Debt): Promise<number> {
    const { policy, owner } = debt
    const units = Math.min(policy.quota, openUnits(debt, nowUs()))
    if (units <= 0) return NOWHERE
    const charge: Charge = { policy, owner, cost: units }
    const first = await ask(consumeOf(charge))
    if (first.admitted) return markIn(first, charge)
    const { available } = meterOf(policy).view(first.readings[0] ?? [], 1, false, first.nowUs, policy)
    if (available <= 0) return NOWHERE
    const less = { ...charge, cost: Math.min(units, available) }
    const rest = await ask(consumeOf(less))
    return rest.admitted ? markIn(rest, less) : NOWHERE
  }

  function begin(): void {
    if (paying || debts.size === 0) return
    paying = true
    run()
      .catch(() => {})
      .finally(() => {
        paying = false
      })
  }

  return {
    begin,
    payFor(charges) {
      if (debts.size === 0) return
      for (const charge of charges) {
        for (const debt of debts.takeOf(charge)) void pay(debt).then((could) => could && begin())
      }
    },
  }
}

/** What is over in every window. */
const NOWHERE = Number.NEGATIVE_INFINITY

function markIn(reply: Reply, charge: Charge): number {
  return markOf(charge, 0, reply).mark
}

function isForConsume({ policy, gives }: Debt): boolean {
  if (gives) return false
  if (policy.algorithm === 'fixed-window') return policy.anchor === 'first-request'
  return policy.algorithm === 'sliding-window-log'
}

function consumeOf(charge: Charge): Op {
  return { kind: 'consume', charges: [charge], lease: '', blocks: [] }
}
