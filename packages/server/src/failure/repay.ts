import { meterOf } from '../algorithm/algorithms.js'
import { receiptOf } from '../receipt.js'
import type { Change, Charge, Op, Reply } from '../store.js'
import { changesOf, type Debt, type Debts, isOpen, openUnits } from './debts.js'
import { createPayments } from './payments.js'
import { asStoreError } from './store-error.js'

/** So many debts are paid at a time: as many as travel in one call of a script. */
const AT_ONCE = 32
/** Of so many buckets it is known where they were charged. */
const MOST_KNOWN = 100_000

/**
 * Charges to the store what was granted without it, apart from any request. What fails before it can have been
 * carried out is tried again the next time; what may have been is not.
 */
export interface Repayment {
  /** Begins with all, if there is anything to do and it is not being done. */
  begin(): void
  /** Pays for these buckets now, so that whoever asks for them next finds it charged. */
  payFor(charges: readonly Charge[]): void
  /**
   * Whether the store will know what to do with a later change of what was granted; undefined where that is told by
   * whether it still counts here.
   */
  canChange(change: Pick<Change, 'policy' | 'owner' | 'mark' | 'units'>): boolean | undefined
}

export function createRepayment(
  debts: Debts,
  ask: (op: Op) => Reply | Promise<Reply>,
  nowUs: () => number,
): Repayment {
  const payments = createPayments(MOST_KNOWN)
  let paying = false

  async function run(): Promise<void> {
    debts.nextRound()
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
      if (isForConsume(debt)) {
        if (!changed) await payApart(debt)
        else for (const { mark, units } of changes) note(debt, mark, units)
      }
      return true
    } catch (error) {
      if (!asStoreError(error).mayHaveRun) debts.putBack(debt)
      return false
    }
  }

  /** Keeps account of what counts where. */
  function note(debt: Debt, mark: number, units: number): void {
    if (units > 0) payments.note(debt, mark, units)
    else payments.takeOut(debt, -units)
  }

  /** Charges as a call would: a log has no call to be changed, and a window of a client's own may not have begun. */
  async function payApart(debt: Debt): Promise<void> {
    const { policy, owner } = debt
    const units = Math.min(policy.quota, openUnits(debt, nowUs()))
    if (units < 0) return giveBack(debt, -units)
    if (units === 0) return
    const { admitted, readings, nowUs: atUs } = await consume(debt, units)
    if (admitted) return
    const { available } = meterOf(policy).view(readings[0] ?? [], 1, false, atUs, policy)
    if (available > 0) await consume({ policy, owner }, Math.min(units, available))
  }

  async function consume({ policy, owner }: Pick<Debt, 'policy' | 'owner'>, cost: number): Promise<Reply> {
    const charges: readonly Charge[] = [{ policy, owner, cost }]
    const reply = await ask({ kind: 'consume', charges, lease: '', blocks: [] })
    const [made] = receiptOf(charges, reply, '').marks
    if (reply.admitted && made !== undefined) payments.note({ policy, owner }, made.mark, cost)
    return reply
  }

  /** Takes units out of what was charged as calls would be. */
  async function giveBack({ policy, owner }: Debt, most: number): Promise<void> {
    const changes = payments
      .takeOut({ policy, owner }, most)
      .map(({ mark, units }) => ({ policy, owner, mark, units: -units, top: 0 }))
    if (changes.length > 0) await ask({ kind: 'adjust', changes })
  }

  return {
    begin() {
      if (paying || debts.size === 0) return
      paying = true
      run()
        .catch(() => {})
        .finally(() => {
          paying = false
        })
    },
    payFor(charges) {
      if (debts.size === 0) return
      for (const charge of charges) {
        const debt = debts.takeOf(charge)
        if (debt !== undefined) void pay(debt)
      }
    },
    canChange({ policy, owner, mark, units }) {
      if (!isForConsume({ policy })) return undefined
      if (!isOpen(policy, mark, nowUs())) return false
      return units > 0 || debts.owes({ policy, owner }) || payments.has({ policy, owner })
    },
  }
}

/** Whether what was granted may count elsewhere in the store than it did here. */
function isForConsume({ policy }: Pick<Debt, 'policy'>): boolean {
  if (policy.algorithm === 'fixed-window') return policy.anchor === 'first-request'
  return policy.algorithm === 'sliding-window-log'
}
