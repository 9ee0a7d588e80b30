import { type Clock, systemClock } from '@ratepact/contract'
import { meterOf } from '../algorithm/algorithms.js'
import type { Reading } from '../algorithm/meter.js'
import { expectFunction, expectInteger, expectNow, expectObject, expectOnly } from '../expect.js'
import {
  type Advance,
  type Charge,
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
import { type Holder, isStale, readState, type State, takeFrom } from './ledger.js'
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
}

export function openMemory(options: MemoryStoreOptions): Memory {
  expectObject('the options of memoryStore', options)
  expectOnly('memoryStore', options, ['maxBuckets', 'clock', 'random'])
  const { maxBuckets = 100_000, clock = calendarClock(), random = Math.random } = options
  expectInteger('maxBuckets', maxBuckets, 1, 2 ** 24)
  expectNow('clock', clock)
  expectFunction('random', random)
  const listeners = new Set<(event: StoreEvent) => void>()
  const blocks = createBlocks(maxBuckets)
  const admissions = createAdmissions(maxBuckets)
  const crowds = createCrowds(maxBuckets)
  const shelf = createShelf(maxBuckets, random, ({ policy, owner }) => {
    for (const report of listeners) report({ type: 'evicted', policy: policy.name, owner })
  })

  function check(op: Extract<Op, { kind: 'consume' | 'peek' }>, nowUs: number): Reply {
    const { charges } = op
    const blockedUs = blocks.longest(op.blocks, nowUs)
    const once = blockedUs === 0 ? op.once : undefined
    const replayed = once !== undefined && admissions.repeat(once, nowUs, op.kind === 'consume')
    const states: (State | undefined)[] = []
    const readings: Reading[] = []
    let fits = true
    for (const charge of charges) {
      const { policy, cost } = charge
      const state = shelf.get(charge)
      const reading = readState(state, cost, nowUs, policy)
      states.push(state)
      readings.push(reading)
      if (!meterOf(policy).fits(reading, cost, policy)) fits = false
    }
    const takes = fits && !replayed
    if (op.kind === 'consume' && blockedUs === 0)
      for (let i = 0; i < charges.length; i += 1) {
        const charge = charges[i] as Charge
        const { policy } = charge
        const taken = takes ? charge.cost : 0
        // Like the script in Redis: what was kept under other numbers or another clock counts by the new from now on.
        if (taken > 0 || isStale(states[i], nowUs, policy))
          shelf.set(charge, takeFrom(states[i], readings[i] ?? [], taken, nowUs, policy, op.lease), nowUs)
      }
    if (op.kind === 'consume' && once !== undefined && takes) admissions.remember(once, nowUs)
    const reply: Reply = {
      nowUs,
      admitted: blockedUs === 0 && (fits || replayed),
      blockedUs,
      replayed,
      readings,
      healed: [],
    }
    if (op.crowd === undefined) return reply
    const noted = op.kind === 'consume' && blockedUs === 0 && takes && op.crowd.instance > 0
    const instance = noted ? op.crowd.instance : undefined
    return { ...reply, instances: crowds.count(charges, instance, Math.floor(nowUs / 1000)) }
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
      if ((state.leases.get(name) ?? 0) <= nowUs) continue
      found = true
      if (verb === 'release') state.leases.delete(name)
      else state.leases.set(name, nowUs + policy.leaseUs)
    }
    return found
  }

  return {
    name: 'memory',
    advances: true,
    run: (ops) => ops.map(runOne),
    put(bucket, state) {
      if (state === undefined) shelf.delete(bucket)
      else shelf.set(bucket, state, microseconds())
    },
    observe: (listener) => {
      listeners.add(listener)
    },
    // Nothing runs and nothing is held open; another limiter may go on with the same store.
    close: async () => {},
  }
}
