import type { Policy } from '../policy.js'
import type { BucketOwner, Change } from '../store.js'
import { createBoundedMap } from './bounded-map.js'
import { bucketKey } from './bucket-key.js'

/** Units that were granted without the store and are to be charged there, or were and are to be given back. */
export interface Debt {
  readonly policy: Policy
  readonly share: Policy
  readonly owner: BucketOwner
  /** The bucket in which it was granted, as one text. */
  readonly granted: string
  /** Whether its units, which are negative then, are to be given back. */
  readonly gives: boolean
  readonly parts: Part[]
  /** In the books, on its way, charged, or let go of. */
  state: 'owed' | 'paying' | 'paid' | 'lost'
  /** Where it was charged, if not where it was granted. */
  chargedAt: number | undefined
  /** What it became a part of when it came back unpaid. */
  partOf: Debt | undefined
  /** What is to be given back of it as soon as it is known whether it was charged. */
  readonly waiting: Change[]
}

/** Units by where they count: the end or start of a window, of a log a slice of time. */
interface Part {
  mark: number
  units: number
}

/** A bounded list of what is owed to the store; beyond the bound those of the fewest units are let go. */
export interface Debts {
  readonly size: number
  /** Whether the store has not been told of all that was granted in a bucket. */
  owes(granted: string): boolean
  /** Notes units that were granted. @returns what they are a part of; undefined where they cannot be charged later */
  add(
    policy: Policy,
    share: Policy,
    owner: BucketOwner,
    granted: string,
    part: Pick<Change, 'mark' | 'units'>,
  ): Debt | undefined
  /**
   * Gives back units that were part of a debt: of those that are owed still at once, of those that are being charged
   * when they have been, and of those that have been by a debt of the store's own.
   * @returns whether there was anything to be given back
   */
  giveBack(debt: Debt, change: Change): boolean
  /** Takes out up to so many. */
  take(most: number): readonly Debt[]
  /** Takes out what is owed for a bucket. */
  takeOf(bucket: Pick<Debt, 'policy' | 'owner'>): readonly Debt[]
  /** A debt that was taken out was paid. @param chargedAt where, if not where it was granted */
  paid(debt: Debt, chargedAt: number | undefined): void
  /** A debt that was taken out was certainly not paid. */
  putBack(debt: Debt): void
  /** A debt that was taken out may have been paid, and is not tried again. */
  lose(debt: Debt): void
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

/** @param nowUs by the store's clock */
export function createDebts(most: number, nowUs: () => number): Debts {
  const debts = createBoundedMap<Debt>(most, {
    worthOf: (debt) => worthOf(debt, nowUs()),
    forgotten(debt) {
      end(debt, 'lost')
    },
  })
  /** How many debts there are of what was granted in a bucket, in the books and on their way. */
  const owing = new Map<string, number>()

  function keyOf(bucket: Pick<Debt, 'policy' | 'owner'>, gives: boolean): string {
    return gives ? `back ${bucketKey(bucket)}` : bucketKey(bucket)
  }

  function note(like: Pick<Debt, 'policy' | 'share' | 'owner' | 'granted' | 'gives'>, part: Part) {
    if (PARTS[like.policy.algorithm] === 0 || part.units === 0) return undefined
    const key = keyOf(like, like.gives)
    const debt = debts.get(key) ?? begin(key, like)
    addTo(debt, part, nowUs())
    return debt
  }

  function begin(key: string, like: Pick<Debt, 'policy' | 'share' | 'owner' | 'granted' | 'gives'>): Debt {
    const { policy, share, owner, granted, gives } = like
    const debt: Debt = {
      ...{ policy, share, owner, granted, gives, parts: [], waiting: [] },
      ...{ state: 'owed', chargedAt: undefined, partOf: undefined },
    }
    debts.set(key, debt)
    if (!gives) owing.set(granted, (owing.get(granted) ?? 0) + 1)
    return debt
  }

  /** A debt is owed no longer, or not for itself. */
  function end(debt: Debt, state: Debt['state']): void {
    debt.state = state
    if (debt.gives) return
    const left = (owing.get(debt.granted) ?? 1) - 1
    if (left > 0) owing.set(debt.granted, left)
    else owing.delete(debt.granted)
  }

  function giveBack(of: Debt, change: Change): boolean {
    const debt = standingOf(of)
    const units = unitsLeft(change, nowUs())
    if (units === 0 || debt.state === 'lost') return false
    if (debt.state === 'owed') return reduce(debt, { mark: change.mark, units }, nowUs())
    if (debt.state === 'paying') {
      debt.waiting.push({ ...change, units })
      return true
    }
    const mark = debt.chargedAt ?? change.mark
    if (!isOpen(debt.policy, mark, nowUs())) return false
    return note({ ...debt, gives: true }, { mark, units }) !== undefined
  }

  function giveWaiting(debt: Debt): void {
    for (const change of debt.waiting.splice(0)) giveBack(debt, change)
  }

  return {
    get size() {
      return debts.size
    },
    owes: (granted) => owing.size > 0 && owing.has(granted),
    add: (policy, share, owner, granted, part) => note({ policy, share, owner, granted, gives: false }, part),
    giveBack,
    take(wanted) {
      const taken: Debt[] = []
      while (taken.length < wanted) {
        const debt = debts.takeAny()
        if (debt === undefined) break
        debt.state = 'paying'
        taken.push(debt)
      }
      return taken
    },
    takeOf(bucket) {
      const taken: Debt[] = []
      for (const gives of [false, true]) {
        const key = keyOf(bucket, gives)
        const debt = debts.get(key)
        if (debt === undefined) continue
        debts.delete(key)
        debt.state = 'paying'
        taken.push(debt)
      }
      return taken
    },
    paid(debt, chargedAt) {
      end(debt, 'paid')
      debt.chargedAt = chargedAt
      giveWaiting(debt)
    },
    putBack(debt) {
      const key = keyOf(debt, debt.gives)
      const since = debts.get(key)
      if (since === undefined) {
        debt.state = 'owed'
        debts.set(key, debt)
      } else {
        end(debt, 'owed')
        for (const part of debt.parts) addTo(since, part, part.mark)
        debt.partOf = since
      }
      giveWaiting(debt)
    },
    lose(debt) {
      end(debt, 'lost')
      debt.waiting.length = 0
    },
  }
}

/** The debt that one has become a part of, or it itself. */
export function standingOf(debt: Debt): Debt {
  let standing = debt
  while (standing.partOf !== undefined) standing = standing.partOf
  return standing
}

/** @param nowUs from when on the units flow out of a bucket */
function addTo(debt: Debt, { mark, units }: Part, nowUs: number): void {
  const { share, parts } = debt
  if (!('ticks' in share)) {
    const where = placeOf(debt, mark)
    const part = parts.find((one) => one.mark === where)
    if (part !== undefined) part.units += units
    else {
      parts.push({ mark: where, units })
      parts.sort((a, b) => a.mark - b.mark)
      // What is older than so many is over.
      parts.splice(0, parts.length - PARTS[share.algorithm])
    }
    return
  }
  // What has flowed back need not be charged any more: of all processes together it flows at the policy's rate.
  const [before = { mark: nowUs, units: 0 }] = parts
  const atUs = Math.max(nowUs, before.mark)
  parts[0] = {
    mark: atUs,
    units: flowed(before.units, before.mark, atUs, share) + flowed(units, nowUs, atUs, share),
  }
}

/** Takes units out of what is owed. @returns whether any were in it */
function reduce(debt: Debt, { mark, units }: Part, nowUs: number): boolean {
  const { share, parts } = debt
  const where = placeOf(debt, mark)
  const part = 'ticks' in share ? parts[0] : parts.find((one) => one.mark === where)
  if (part === undefined) return false
  if ('ticks' in share) {
    part.units = flowed(part.units, part.mark, nowUs, share)
    part.mark = Math.max(part.mark, nowUs)
  }
  const before = part.units
  part.units = Math.max(0, before + units)
  return part.units !== before
}

/** Where units of a log count that were granted at an instant; what is given back is so call by call. */
function placeOf({ policy, gives }: Debt, mark: number): number {
  if (policy.algorithm !== 'sliding-window-log' || gives) return mark
  return mark - (mark % Math.ceil(policy.windowUs / SLICES))
}

/** The units of a change; of those that are given back, without those that have flowed out of a bucket since. */
export function unitsLeft({ policy, units, mark, top }: Change, nowUs: number): number {
  if (units >= 0 || !('ticks' in policy)) return units
  const there = top - Math.max(0, nowUs - mark) * policy.ticks.rate
  return Math.min(0, Math.max(units, -Math.max(0, there) / policy.ticks.unit))
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

/** The part of a quota that is owed and still counts: what is worth the most is forgotten last. */
function worthOf({ policy, share, parts }: Debt, nowUs: number): number {
  let units = 0
  for (const part of parts)
    if ('ticks' in share) units += Math.abs(flowed(part.units, part.mark, nowUs, share))
    else if (isOpen(policy, part.mark, nowUs)) units += Math.abs(part.units)
  return units / policy.quota
}

/** The changes that pay a debt, only in windows that are still open; what a log or nobody's window owes is not in them. */
export function changesOf({ policy, share, owner, gives, parts }: Debt, nowUs: number): readonly Change[] {
  if (policy.algorithm === 'sliding-window-log' && !gives) return []
  const changes: Change[] = []
  for (const { mark, units } of parts) {
    if ('ticks' in policy && 'ticks' in share) {
      const left = Math.round(flowed(units, mark, nowUs, share))
      if (left !== 0)
        changes.push({ policy, owner, units: left, mark, top: Math.abs(left) * policy.ticks.unit })
    } else if (units !== 0 && isOpen(policy, mark, nowUs))
      changes.push({ policy, owner, units, mark, top: 0 })
  }
  return changes
}

/** Units owed to a window that is still open. */
export function openUnits({ policy, parts }: Debt, nowUs: number): number {
  return parts.reduce((sum, { mark, units }) => sum + (isOpen(policy, mark, nowUs) ? units : 0), 0)
}

/** Whether what was granted or charged there still counts. Of a bucket it is known by how much has flowed back. */
export function isOpen(policy: Policy, mark: number, nowUs: number): boolean {
  if (policy.algorithm === 'fixed-window') return mark > nowUs
  if (policy.algorithm === 'sliding-window-counter') return mark + 2 * policy.windowUs > nowUs
  return policy.algorithm !== 'sliding-window-log' || mark + policy.windowUs > nowUs
}
