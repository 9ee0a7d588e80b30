import type { Policy } from '../policy.js'
import type { BucketOwner, Change } from '../store.js'
import { createBoundedMap } from './bounded-map.js'
import { bucketKey } from './bucket-key.js'

/** Units that were granted without the store and are to be charged there. */
export interface Debt {
  readonly policy: Policy
  readonly share: Policy
  readonly owner: BucketOwner
  /** Units by where they count: the end or start of a window, of a log a slice of time. Negative: to be given back. */
  readonly parts: { mark: number; units: number }[]
}

/** A bounded list of what is owed to the store; beyond the bound the oldest are let go. */
export interface Debts {
  readonly size: number
  /** Raised each time debts begin to be paid: what was owed before may have been paid. */
  readonly round: number
  /** @param least what is owed in the end at least: 0 where what was granted has not been paid yet */
  add(
    policy: Policy,
    share: Policy,
    owner: BucketOwner,
    mark: number,
    units: number,
    nowUs: number,
    least: number,
  ): void
  /** Whether units of a bucket are to be charged. */
  owes(bucket: Pick<Debt, 'policy' | 'owner'>): boolean
  /** Takes out up to so many. */
  take(most: number): readonly Debt[]
  /** Takes out what is owed for a bucket. */
  takeOf(bucket: Pick<Debt, 'policy' | 'owner'>): Debt | undefined
  putBack(debt: Debt): void
  nextRound(): void
}

/** How finely the calls of a log are told apart: by this part of its window. */
const SLICES = 8
const PARTS: Readonly<Record<Policy['algorithm'], number>> = {
  'token-bucket': 1,
  'leaky-bucket': 1,
  'fixed-window': 1,
  'sliding-window-counter': 2,
  'sliding-window-log': SLICES + 1,
  // A place is held by a call, and the store cannot learn of calls that are over.
  concurrency: 0,
}

export function createDebts(most: number): Debts {
  const debts = createBoundedMap<Debt>(most)
  /** Where taking out has come to; what comes meanwhile is met by it, or by the next. */
  let rest: Iterator<[string, Debt]> | undefined
  let round = 0

  return {
    get size() {
      return debts.size
    },
    get round() {
      return round
    },
    add(policy, share, owner, mark, units, nowUs, least) {
      const kept = PARTS[policy.algorithm]
      if (kept === 0 || units === 0) return
      const key = bucketKey({ policy, owner })
      const debt = debts.get(key) ?? { policy, share, owner, parts: [] }
      if (debt.parts.length === 0) debts.set(key, debt)
      addTo(debt, mark, units, nowUs, least)
      if (debt.parts.length > kept) debt.parts.shift()
    },
    owes: (bucket) => debts.get(bucketKey(bucket))?.parts.some(({ units }) => units > 0) === true,
    take(wanted) {
      const taken: Debt[] = []
      rest ??= debts.entries()
      while (taken.length < wanted) {
        const { value, done } = rest.next()
        if (done === true) {
          rest = undefined
          break
        }
        const [key, debt] = value
        if (debts.delete(key)) taken.push(debt)
      }
      return taken
    },
    takeOf(bucket) {
      const key = bucketKey(bucket)
      const debt = debts.get(key)
      if (debt !== undefined) debts.delete(key)
      return debt
    },
    putBack(debt) {
      const key = bucketKey(debt)
      const since = debts.get(key)
      if (since === undefined) debts.set(key, debt)
      else for (const { mark, units } of debt.parts) addTo(since, mark, units, mark, Number.NEGATIVE_INFINITY)
    },
    nextRound() {
      round += 1
    },
  }
}

function addTo(
  { policy, share, parts }: Debt,
  where: number,
  units: number,
  nowUs: number,
  least: number,
): void {
  if ('ticks' in policy && 'ticks' in share) {
    // What has flowed back need not be charged any more: of all processes together it flows at the policy's rate.
    const [before = { mark: nowUs, units: 0 }] = parts
    const left = flowed(before.units, before.mark, nowUs, share)
    parts[0] = { mark: Math.max(nowUs, before.mark), units: Math.max(least, left + units) }
    return
  }
  const mark =
    policy.algorithm === 'sliding-window-log' ? where - (where % Math.ceil(policy.windowUs / SLICES)) : where
  const part = parts.find((one) => one.mark === mark)
  if (part === undefined) parts.push({ mark, units: Math.max(least, units) })
  else part.units = Math.max(least, part.units + units)
}

/** Units that are left of some after a time, as they flow out of a bucket; of what is to be given back likewise. */
function flowed(
  units: number,
  fromUs: number,
  nowUs: number,
  share: Extract<Policy, { ticks: unknown }>,
): number {
  const out = (Math.max(0, nowUs - fromUs) * share.ticks.rate) / share.ticks.unit
  return units > 0 ? Math.max(0, units - out) : Math.min(0, units + out)
}

/** The changes that pay a debt, only in windows that are still open; what a log or nobody's window owes is not in them. */
export function changesOf({ policy, share, owner, parts }: Debt, nowUs: number): readonly Change[] {
  const changes: Change[] = []
  for (const { mark, units } of parts) {
    if ('ticks' in policy && 'ticks' in share) {
      const left = Math.round(flowed(units, mark, nowUs, share))
      if (left !== 0)
        changes.push({ policy, owner, units: left, mark, top: Math.abs(left) * policy.ticks.unit })
    } else if (units !== 0 && isOpen(policy, mark, nowUs))
      changes.push({ policy, owner, units, mark, top: 0 })
  }
  return policy.algorithm === 'sliding-window-log' ? [] : changes
}

/** Units owed to a window that is still open. */
export function openUnits({ policy, parts }: Debt, nowUs: number): number {
  return parts.reduce((sum, { mark, units }) => sum + (isOpen(policy, mark, nowUs) ? units : 0), 0)
}

/** Whether what was charged there still counts. */
export function isOpen(policy: Policy, mark: number, nowUs: number): boolean {
  if (policy.algorithm === 'fixed-window') return mark > nowUs
  if (policy.algorithm === 'sliding-window-counter') return mark + 2 * policy.windowUs > nowUs
  return policy.algorithm === 'sliding-window-log' && mark + policy.windowUs > nowUs
}
