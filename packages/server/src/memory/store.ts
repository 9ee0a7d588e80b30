import { type Clock, systemClock } from '@ratepact/contract'
import { meterOf } from '../algorithm/algorithms.js'
import { emptyCount } from '../algorithm/bucket.js'
import { Place } from '../algorithm/concurrency-leases.js'
import type { Check } from '../call.js'
import { CheckReply, Tried } from '../check-reply.js'
import { expectFunction, expectInteger, expectNow, expectObject, expectOnly } from '../expect.js'
import { listOf } from '../list.js'
import {
  type Advance,
  type Charge,
  type Crowd,
  changedReply,
  type Op,
  type Reply,
  type Store,
  type StoreEvent,
} from '../store.js'
import { adjustState } from './adjust.js'
import { createAdmissions } from './admissions.js'
import { advanceState } from './advance.js'
import { createBlocks } from './blocks.js'
import { createCrowds } from './crowds.js'
import { type Holder, readState, type State, shareOf } from './ledger.js'
import { lookAt, stateAfter, take } from './look.js'
import { createShelf } from './shelf.js'

export interface MemoryStoreOptions {
  /** The most buckets kept; beyond it one is forgotten for each that comes. @default 100_000 */
  readonly maxBuckets?: number
  /** Where time comes from. @default the machine's monotonic clock, counted from 1970 */
  readonly clock?: Pick<Clock, 'now'>
  /** Chooses which buckets are looked at when the store is full: a number from 0 up to 1. @default Math.random */
  readonly random?: () => number
}

/** Monotonic, and near enough to the date that windows of the calendar begin where people expect them. */
function calendarClock(): Pick<Clock, 'now'> {
  const originMs = performance.timeOrigin
  return { now: () => originMs + systemClock.now() }
}

/**
 * Buckets in this process. For one process, for tests, and as a start: several processes each count for
 * themselves. Nothing runs in the background and nothing keeps the process alive.
 * @throws TypeError or RangeError naming the option, the value and the rule
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  return openMemory(options)
}

/** A memory store that can be told what was counted elsewhere. */
export interface Memory extends Store {
  run(ops: readonly Op[]): readonly Reply[]
  /** Puts a state in the place of a bucket's own; none = as if it had never been used. */
  put(bucket: Holder, state: State | undefined): void
  /** The part of its quota that a bucket has in use. */
  usedPart(bucket: Holder): number
}

export function openMemory(options: MemoryStoreOptions): Memory {
  expectObject('the options of memoryStore', options)
  expectOnly('memoryStore', options, ['maxBuckets', 'clock', 'random'])
  const { maxBuckets = 100_000, clock = calendarClock(), random = Math.random } = options
  expectInteger('maxBuckets', maxBuckets, 1, 2 ** 24)
  expectNow('clock', clock)
  expectFunction('random', random)
  const draft = emptyCount()
  const listeners = new Set<(event: StoreEvent) => void>()
  const blocks = createBlocks(maxBuckets)
  const admissions = createAdmissions(maxBuckets)
  const crowds = createCrowds(maxBuckets)
  const shelf = createShelf(maxBuckets, random, ({ policy, owner }) => {
    for (const report of listeners) report({ type: 'evicted', policy: policy.name, owner })
  })

  /** The same as `checkAll`, for what most calls are: one charge and nothing else. */
  function checkOne(charge: Charge, lease: string | undefined, nowUs: number): Reply {
    const { policy, cost } = charge
    const place = shelf.find(charge)
    const state = place === undefined ? undefined : shelf.read(place, draft)
    const reading = readState(state, cost, nowUs, policy)
    const admitted = meterOf(policy).fits(reading, cost, policy)
    if (lease !== undefined) {
      // A new bucket may push out another, and who is told of that may call again before this one is written.
      const into = place === undefined ? undefined : draft
      const after = stateAfter(charge, state, reading, admitted, lease, nowUs, into)
      if (after !== undefined && place !== undefined) shelf.write(place, after)
      else if (after !== undefined) shelf.set(charge, after, nowUs)
    }
    return new CheckReply(nowUs, admitted, listOf(reading))
  }

  function check(op: Check, nowUs: number): Reply {
    const { charges, once, crowd, trials } = op
    if (charges.length === 1 && op.blocks.length === 0 && !once && !crowd && !trials)
      return checkOne(charges[0] as Charge, op.kind === 'consume' ? op.lease : undefined, nowUs)
    return checkAll(op, nowUs)
  }

  function checkAll(op: Check, nowUs: number): Reply {
    const blockedUs = blocks.longest(op.blocks, nowUs)
    const charging = op.kind === 'consume' && blockedUs === 0
    const once = blockedUs === 0 ? op.once : undefined
    const before = once && admissions.repeat(once, nowUs, charging)
    const replayed = before === 'admitted'
    const own = lookAt(shelf, op.charges, nowUs)
    const takes = charging && own.fits && !replayed
    const lease = takes ? op.lease : undefined
    const looks = op.trials?.map(({ charges }) => lookAt(shelf, charges, nowUs))
    const trials = looks?.map(({ readings, fits }, i) => {
      const may = op.trials?.[i]?.mode === 'beside' ? takes : charging && before === undefined
      return new Tried(readings, may && fits)
    })
    if (charging) {
      take(shelf, own, takes, lease, nowUs)
      looks?.forEach((look, i) => {
        take(shelf, look, trials?.[i]?.taken === true, lease, nowUs)
      })
    }
    if (once !== undefined && (takes || trials?.some(({ taken }) => taken)))
      admissions.remember(once, takes ? 'admitted' : 'tried', nowUs)
    const admitted = blockedUs === 0 && (own.fits || replayed)
    const reply = new CheckReply(nowUs, admitted, own.readings, blockedUs, replayed)
    if (trials !== undefined) reply.trials = trials
    if (op.crowd !== undefined) reply.instances = sharing(op.charges, op.crowd, takes, nowUs)
    return reply
  }

  /** How many client processes share each bucket. */
  function sharing(
    charges: readonly Charge[],
    crowd: Crowd,
    takes: boolean,
    nowUs: number,
  ): readonly number[] {
    const instance = takes && crowd.instance > 0 ? crowd.instance : undefined
    return crowds.count(charges, instance, Math.floor(nowUs / 1000))
  }

  /** Does something to each bucket; true when it did to any. */
  function each<T extends Holder>(items: readonly T[], nowUs: number, act: (item: T) => boolean): Reply {
    const changed = items.map(act)
    return changedReply(nowUs, changed.includes(true))
  }

  function microseconds(): number {
    return Math.round(clock.now() * 1000)
  }

  function runOne(op: Op): Reply {
    const nowUs = microseconds()
    switch (op.kind) {
      case 'consume':
      case 'peek':
        return check(op, nowUs)
      case 'block': {
        const before = op.blocks.map((owner) => blocks.set(owner, op.ms, nowUs))
        return changedReply(nowUs, before.includes(true))
      }
      case 'reset':
        if (op.once !== undefined) admissions.forget(op.once)
        return each(op.charges, nowUs, (charge) => shelf.delete(charge))
      case 'adjust':
        return each(op.changes, nowUs, (change) => {
          const state = adjustState(shelf.get(change), change, nowUs)
          if (state !== undefined) shelf.set(change, state, nowUs)
          return state !== undefined
        })
      case 'advance':
        return takeAhead(op.advance, nowUs)
      case 'release':
      case 'renew':
        return each(op.charges, nowUs, (charge) => changeLease(charge, nowUs, op.kind, op.lease))
    }
  }

  function takeAhead(advance: Advance, nowUs: number): Reply {
    const made = advanceState(shelf.get(advance), shelf.advancesOf(advance), advance, nowUs)
    if (made.state !== undefined) shelf.set(advance, made.state, nowUs)
    shelf.hold(advance, made.advances, made.heldUntilUs)
    const [given = 0, kept = 0] = made.reading
    return { ...changedReply(nowUs, given + kept > 0), readings: [made.reading] }
  }

  function changeLease(charge: Charge, nowUs: number, verb: string, lease: string): boolean {
    const { policy, cost } = charge
    const state = shelf.get(charge)
    if (state?.kind !== 'leases' || policy.algorithm !== 'concurrency') return false
    let found = false
    for (let place = 1; place <= cost; place += 1) {
      const name = `${lease}:${place}`
      if ((state.leases.get(name)?.endUs ?? 0) <= nowUs) continue
      found = true
      const { leaseUs } = policy
      if (verb === 'release') state.leases.delete(name)
      else state.leases.set(name, new Place(nowUs + leaseUs, leaseUs))
    }
    return found
  }

  return {
    name: 'memory',
    advances: true,
    run: (ops) => (ops.length === 1 ? listOf(runOne(ops[0] as Op)) : ops.map(runOne)),
    put(bucket, state) {
      if (state === undefined) shelf.delete(bucket)
      else shelf.set(bucket, state, microseconds())
    },
    usedPart(bucket) {
      const state = shelf.get(bucket)
      return state === undefined ? 0 : shareOf(state, microseconds(), bucket.policy)
    },
    observe: (listener) => {
      listeners.add(listener)
    },
    // Nothing runs and nothing is held open; another limiter may go on with the same store.
    close: async () => {},
  }
}
