import { isHeld } from './algorithm/fixed-window-count.js'
import type { Reading } from './algorithm/meter.js'
import type { Change, Charge, Once, Op, Reply } from './store.js'

/** Where units came from that were not taken from the store, and may be put back. */
export interface Origin {
  /** @returns false when that is not possible any more: they are the store's to take back */
  putBack(units: number): boolean
}

/**
 * What an admission charged, kept so that it can be given back: once, and only as much. A class, since there is one for
 * each admission: see `listOf`.
 */
export class Receipt {
  readonly charges: readonly Charge[]
  /** What the store read before: it tells where each charge was made. */
  readonly read: Read
  readonly lease: string
  /** What the admission is remembered by. */
  readonly once?: Once | undefined
  /** Where this process had the units of each charge from, which it had taken ahead. */
  readonly from?: readonly Origin[] | undefined
  /** What is left of the charges; undefined until it is asked for by `restOf`, as of most admissions it never is. */
  rest: Rest | undefined
  closed: boolean
  /** Who is asked for what is done with the charges later. @default the store */
  declare readonly via?: (op: Op) => Reply | Promise<Reply>
  /** What was charged along with it to policies that are only tried: what becomes of the one becomes of the other. */
  declare tried?: Receipt

  constructor(
    charges: readonly Charge[],
    read: Read,
    lease: string,
    from?: readonly Origin[],
    once?: Once,
    closed = false,
  ) {
    this.charges = charges
    this.read = read
    this.lease = lease
    this.once = once
    this.from = from
    this.rest = undefined
    this.closed = closed
  }
}

export type Read = Pick<Reply, 'readings' | 'nowUs' | 'instants'>

/** What is left of charges, one by one. */
export interface Rest {
  /** Where each was made, and how full it made a bucket. */
  readonly marks: readonly { readonly mark: number; readonly top: number }[]
  /** Units that have not been given back. */
  readonly left: readonly number[]
}

/** The receipt of an op; undefined where nothing was admitted, or nothing charged because it was before. */
export function receiptFrom(op: Extract<Op, { kind: 'consume' }>, reply: Reply): Receipt | undefined {
  const { charges, lease, trials, once } = op
  if (!reply.admitted || reply.replayed) return undefined
  const own = new Receipt(charges, reply, lease, undefined, once)
  if (trials === undefined) return own
  const [tried, readings, instants]: [Charge[], Reading[], number[]] = [[], [], []]
  for (const [i, trial] of trials.entries()) {
    const said = reply.trials?.[i]
    if (said?.taken !== true) continue
    tried.push(...trial.charges)
    readings.push(...said.readings)
    instants.push(...(said.instants ?? said.readings.map(() => reply.nowUs)))
  }
  if (tried.length === 0) return own
  own.tried = new Receipt(tried, { readings, nowUs: reply.nowUs, instants }, lease)
  return own
}

/** What is left of the charges of a receipt. */
export function restOf(receipt: Receipt): Rest {
  const { charges, read } = receipt
  receipt.rest ??= {
    marks: charges.map((charge, i) => markOf(charge, i, read)),
    left: charges.map(({ cost }) => cost),
  }
  return receipt.rest
}

/** Where a charge was made, so that it is not taken out of another window, or out of a bucket that is full again. */
export function markOf(
  { policy, cost }: Charge,
  nth: number,
  { readings, nowUs, instants }: Read,
): { readonly mark: number; readonly top: number } {
  const { algorithm } = policy
  const reading = readings[nth] ?? NOTHING
  if (algorithm === 'fixed-window') {
    const [used = 0, endUs = 0] = reading
    return { mark: isHeld(used, cost, policy) ? endUs + policy.windowUs : endUs, top: 0 }
  }
  if (algorithm === 'sliding-window-counter') return { mark: reading[2] ?? 0, top: 0 }
  const top = 'ticks' in policy ? (reading[0] ?? 0) + cost * policy.ticks.unit : 0
  return { mark: instants?.[nth] ?? nowUs, top }
}

const NOTHING: Reading = []

/**
 * Changes that bring the charges of a receipt to other costs; of policies whose charge stays, or that could be put back
 * here (`put`), none.
 */
export function changesTo(
  receipt: Receipt,
  costs: readonly number[],
): { readonly changes: readonly Change[]; readonly put: boolean } {
  const { marks, left } = restOf(receipt)
  const changes: Change[] = []
  let put = false
  for (const [i, { policy, owner }] of receipt.charges.entries()) {
    const units = (costs[i] ?? 0) - (left[i] ?? 0)
    const where = marks[i]
    if (units < 0 && receipt.from?.[i]?.putBack(-units) === true) put = true
    else if (units !== 0 && where !== undefined && policy.algorithm !== 'concurrency')
      changes.push({ policy, owner, units, ...where })
  }
  return { changes, put }
}

/** Notes other costs: what has been given back of a bucket is not above what was there before any more. */
export function bringReceiptTo(receipt: Receipt, costs: readonly number[]): void {
  const { marks, left } = restOf(receipt)
  const now = marks.map(({ mark, top }, i) => {
    const policy = receipt.charges[i]?.policy
    const units = (costs[i] ?? 0) - (left[i] ?? 0)
    return { mark, top: policy !== undefined && 'ticks' in policy ? top + units * policy.ticks.unit : top }
  })
  receipt.rest = { marks: now, left: costs }
}

/** The charges of a receipt that hold places. */
export function heldBy(receipt: Receipt): Charge[] {
  return receipt.charges.filter(({ policy, cost }) => policy.algorithm === 'concurrency' && cost > 0)
}
