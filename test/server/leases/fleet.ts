import {
  createLimiter,
  type Decision,
  type LeaseOptions,
  type Limiter,
  type LimiterEvent,
  memoryStore,
  type Op,
  type Policy,
  type Reply,
  type Store,
} from '@ratepact/server'
import { type TestClock, testClock } from '@ratepact/testing'
import type { Passed } from './bound.js'

/** How the way between a process and the store behaves. */
export interface Way {
  /** How long an op travels in each direction, in ms. */
  travelMs(): number
  /** Whether an op, or the answer to it, gets lost. */
  loses(direction: 'there' | 'back'): boolean
}

export const straight: Way = { travelMs: () => 0, loses: () => false }

/** A process with leases: its limiter, its way to the store that it shares with others, what it did. */
export interface Member {
  readonly limiter: Limiter
  readonly events: LimiterEvent[]
  /** Ops that reached the store, by kind. */
  readonly asked: Map<Op['kind'], number>
  /** From now on nothing of it reaches the store: it has crashed. */
  crash(): void
}

export interface Fleet {
  readonly clock: TestClock
  /** What passed, by the instant at which the store or the lease let it pass. */
  readonly passed: Passed[]
  join(leases?: LeaseOptions, way?: Way): Member
  /** Begins a call; the test moves time. */
  start(member: Member, who?: string, cost?: number): Promise<Decision>
  /** Makes a call; moves time until it is answered. */
  call(member: Member, who?: string, cost?: number): Promise<Decision>
}

const START_MS = 1_796_256_000_000

/** Processes that share one store, on one clock that the test moves. */
export function fleet(policies: readonly Policy[], store?: (clock: TestClock) => Store): Fleet {
  const clock = testClock()
  const shared =
    store?.(clock) ?? memoryStore({ clock: { now: () => START_MS + clock.now() }, maxBuckets: 1000 })
  const passed: Passed[] = []
  const pass = (units: number) => passed.push({ atUs: Math.round((START_MS + clock.now()) * 1000), units })

  function run(op: Op, asked: Map<Op['kind'], number>): Reply {
    asked.set(op.kind, (asked.get(op.kind) ?? 0) + 1)
    const [reply] = shared.run([op], 1000) as readonly Reply[]
    if (op.kind === 'consume' && reply?.admitted) pass(op.charges[0]?.cost ?? 0)
    return reply as Reply
  }

  async function start({ limiter }: Member, who = 'hot', cost = 1): Promise<Decision> {
    const decision = await limiter.consume(who, { cost })
    if (decision.allowed && decision.source === 'lease') pass(cost)
    return decision
  }

  return {
    clock,
    passed,
    join(leases = {}, way = straight) {
      const asked = new Map<Op['kind'], number>()
      const events: LimiterEvent[] = []
      let crashed = false
      const travel = () => new Promise<void>((resolve) => clock.setTimeout(resolve, way.travelMs()))
      async function send(op: Op): Promise<Reply> {
        if (way.travelMs() > 0) await travel()
        if (crashed || way.loses('there')) return new Promise(() => {})
        const reply = run(op, asked)
        if (way.travelMs() > 0) await travel()
        return crashed || way.loses('back') ? new Promise(() => {}) : reply
      }
      const limiter = createLimiter({
        policies,
        store: {
          name: 'a way to the store',
          advances: true,
          timeoutMs: 100,
          run: (ops) => Promise.all(ops.map(send)),
          close: async () => {},
        },
        onStoreFailure: 'closed',
        clock,
        leases,
        onEvent: (event) => events.push(event),
      })
      return {
        limiter,
        events,
        asked,
        crash: () => {
          crashed = true
        },
      }
    },
    start,
    call: (member, who, cost) => clock.runUntil(start(member, who, cost)),
  }
}
