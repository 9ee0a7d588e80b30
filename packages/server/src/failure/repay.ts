import { meterOf } from '../algorithm/algorithms.js'
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
      if (!changed && isForConsume(debt)) await consume(debt)
      return true
    } catch (error) {
      if (!asStoreError(error).mayHaveRun) debts.putBack(debt)
      return false
    }
  }

  /** Charges as a call would: a log has no call to be changed, and a window of a client's own may not have begun. */
  async function consume({ policy, owner, ...debt }: Debt): Promise<void> {
    const units = Math.min(policy.quota, openUnits({ policy, owner, ...debt }, nowUs()))
    if (units <= 0) return
    const charge: Charge = { policy, owner, cost: units }
    const { admitted, readings, nowUs: atUs } = await ask(consumeOf(charge))
    if (admitted) return
    const { available } = meterOf(policy).view(readings[0] ?? [], 1, false, atUs, policy)
    if (available > 0) await ask(consumeOf({ ...charge, cost: Math.min(units, available) }))
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
  }
}

function isForConsume({ policy }: Debt): boolean {
  if (policy.algorithm === 'fixed-window') return policy.anchor === 'first-request'
  return policy.algorithm === 'sliding-window-log'
}

function consumeOf(charge: Charge): Op {
  return { kind: 'consume', charges: [charge], lease: '', blocks: [] }
}
