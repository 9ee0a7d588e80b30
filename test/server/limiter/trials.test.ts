import {
  createLimiter,
  type Decision,
  type Limiter,
  type LimiterEvent,
  memoryStore,
  type Store,
  tokenBucket,
} from '@ratepact/server'
import { describe, expect, expectTypeOf, it } from 'vitest'

const bucket = <const Name extends string>(name: Name, capacity: number) =>
  tokenBucket({ name, capacity, refillPerSecond: 0.001 })
const shadow = <const Name extends string>(name: Name, capacity: number) =>
  tokenBucket({ name, capacity, refillPerSecond: 0.001, shadow: true })

function handClock() {
  let nowMs = 1_796_000_000_000
  return {
    clock: { now: () => nowMs, setTimeout: () => 0, clearTimeout: () => {} },
    advance: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('events', () => {
  it('tell at once of what is first refused, then once a second what came in between', async () => {
    const { clock, advance } = handClock()
    const events: LimiterEvent[] = []
    const limiter = createLimiter({
      policies: [bucket('live', 6), shadow('new', 2)],
      candidate: [bucket('live', 4), bucket('more', 3)],
      store: memoryStore({ clock }),
      clock,
      onEvent: (event) => {
        if (event.type === 'shadow-refused') events.push(event)
      },
    })
    const call = async (times: number) => {
      for (let i = 0; i < times; i += 1) await limiter.consume('a')
    }
    await call(2)
    expect(events).toEqual([])
    await call(1)
    const first = { type: 'shadow-refused', group: 'shadow', policy: 'new', violated: ['new'] }
    expect(events.splice(0)).toEqual([{ ...first, calls: 1, passed: 1 }])
    await call(5)
    const candidate = { type: 'shadow-refused', group: 'candidate', violated: ['more'] }
    expect(events.splice(0)).toEqual([{ ...candidate, calls: 1, passed: 1 }])
    advance(1000)
    await call(1)
    expect(events).toEqual([
      { ...first, calls: 6, passed: 3 },
      { ...candidate, calls: 5, passed: 2 },
    ])
  })

  it('tell nothing of peeking, of a repeated call, or of what passes', async () => {
    const events: LimiterEvent[] = []
    const limiter = createLimiter({
      policies: [bucket('live', 9), shadow('new', 1)],
      onEvent: (event) => events.push(event),
    })
    await limiter.consume('a', { id: '1' })
    await limiter.consume('a', { id: '1' })
    await limiter.peek('a')
    expect(events).toEqual([])
  })

  it('name the plan', async () => {
    const events: LimiterEvent[] = []
    const limiter = createLimiter({
      plans: { free: [bucket('burst', 9)] },
      candidate: { free: [bucket('burst', 1)] },
      onEvent: (event) => events.push(event),
    })
    await limiter.consume('a', { plan: 'free', cost: 2 })
    expect(events).toEqual([
      {
        type: 'shadow-refused',
        group: 'candidate',
        plan: 'free',
        violated: ['burst'],
        calls: 1,
        passed: 1,
      },
    ])
  })
})

describe('a limiter', () => {
  it('tells apart what decides and what is tried', () => {
    const limiter = createLimiter({
      plans: { free: [bucket('burst', 1)], pro: [bucket('burst', 9), shadow('new', 1)] },
      candidate: { free: [bucket('burst', 2)] },
    })
    const named = (policies: readonly { name: string; quota: number }[]) =>
      policies.map(({ name, quota }) => `${name} ${quota}`)
    expect(named(limiter.policies)).toEqual(['burst 1', 'burst 9'])
    expect(named(limiter.policiesOf('pro'))).toEqual(['burst 9'])
    expect(named(limiter.tried)).toEqual(['burst 2', 'new 1'])
  })

  it('states nothing of the tried where the store was not asked', async () => {
    const down: Store = { ...memoryStore(), run: () => Promise.reject(new Error('down')) }
    const trial = { policies: [bucket('live', 9), shadow('new', 9)], candidate: [bucket('live', 20)] }
    const open = createLimiter({ ...trial, store: down })
    expect(await open.consume('a')).toMatchObject({ outcome: 'unchecked', shadow: [] })
    const closed = createLimiter({ ...trial, store: down, onStoreFailure: 'closed' })
    expect(await closed.consume('a')).toMatchObject({ outcome: 'unavailable', shadow: [] })
    // What never passes does not pass because a candidate could not be asked.
    expect(await open.consume('a', { cost: 10 })).toMatchObject({ outcome: 'impossible', violated: ['live'] })
  })

  it('decides by a store that knows nothing of trials, and says nothing of them', async () => {
    const memory = memoryStore()
    const old: Store = {
      ...memory,
      run: (ops, deadlineMs) =>
        memory.run(
          ops.map((op) => {
            if (op.kind !== 'consume') return op
            const { trials: _, ...rest } = op
            return rest
          }),
          deadlineMs,
        ),
    }
    const limiter = createLimiter({ policies: [bucket('live', 9), shadow('new', 9)], store: old })
    const decision = await limiter.consume('a')
    expect(decision).toMatchObject({ outcome: 'admitted', limits: [{ available: 8 }], shadow: [] })
    expect(await limiter.refund(decision)).toBe(true)
  })

  it.each([
    [{ policies: [bucket('a', 1)], candidate: [] }, 'Expected candidate to be an array of 1 to 32 policies'],
    [
      { policies: [bucket('a', 1)], candidate: [shadow('b', 1)] },
      'Expected no shadow in candidate, which is tried as a whole, got "b"',
    ],
    [
      { policies: [bucket('a', 1), shadow('a', 2)] },
      'Expected each policy to have a name of its own, got "a" twice',
    ],
    [
      { policies: [bucket('a', 1)], candidate: { free: [bucket('a', 1)] } },
      'Expected candidate to be an array of 1 to 32 policies',
    ],
    [
      { plans: { free: [bucket('a', 1)] }, candidate: [bucket('a', 1)] },
      'Expected candidate of a limiter with plans to be an object, got an array of 1',
    ],
    [
      { plans: { free: [bucket('a', 1)] }, candidate: { gold: [bucket('a', 1)] } },
      'Unknown option "gold" of candidate; it takes free',
    ],
    [
      { plans: { free: [bucket('a', 1)] }, candidate: { free: [shadow('b', 1)] } },
      'Expected no shadow in candidate.free, which is tried as a whole, got "b"',
    ],
  ])('is refused when what it tries is wrong (case %#)', (options, message) => {
    expect(() => createLimiter(options as never)).toThrow(message)
  })

  it('builders refuse a shadow that is neither', () => {
    // @ts-expect-error: yes or no
    expect(() => tokenBucket({ name: 'a', capacity: 1, refillPerSecond: 1, shadow: 'yes' })).toThrow(
      'Expected shadow of policy "a" to be one of true, false, got "yes"',
    )
  })
})

// Each case is checked by the compiler; running them shows that the types tell the truth.
describe('types', () => {
  const perTeam = tokenBucket({
    name: 'team',
    capacity: 9,
    refillPerSecond: 1,
    by: 'account',
    shadow: true,
  })

  it('leave shadows out of what may refuse, and know what they count', async () => {
    const limiter = createLimiter({ policies: [bucket('live', 9), perTeam] })
    expectTypeOf(limiter).toEqualTypeOf<Limiter<'live', 'client' | 'account', never, 'live' | 'team'>>()
    const decision = await limiter.consume({ client: 'a', account: 'x' }, { cost: { live: 1, team: 2 } })
    expectTypeOf(decision).toEqualTypeOf<Decision<'live'>>()
    expect(decision.shadow).toMatchObject([{ limits: [{ cost: 2 }] }])
    // @ts-expect-error: account is missing
    await expect(limiter.consume('a')).rejects.toThrow('account')
  })

  it('know the names and kinds of a candidate', async () => {
    const limiter = createLimiter({
      policies: [bucket('live', 9)],
      candidate: [tokenBucket({ name: 'team', capacity: 9, refillPerSecond: 1, by: 'account' })],
    })
    expectTypeOf(limiter).toEqualTypeOf<Limiter<'live', 'client' | 'account', never, 'live' | 'team'>>()
    await limiter.consume({ client: 'a', account: 'x' }, { cost: { team: 3 } })
    // @ts-expect-error: no such policy
    await expect(limiter.consume({ client: 'a', account: 'x' }, { cost: { taem: 3 } })).rejects.toThrow(
      'taem',
    )
  })

  it('know them by plan', async () => {
    const limiter = createLimiter({
      plans: { free: [bucket('burst', 9)], pro: [bucket('fast', 9)] },
      candidate: { free: [bucket('new', 9)] },
    })
    expectTypeOf(limiter).toEqualTypeOf<
      Limiter<'burst' | 'fast', 'client', 'free' | 'pro', 'burst' | 'fast' | 'new'>
    >()
    expect((await limiter.consume('a', { plan: 'free', cost: { new: 2 } })).shadow).toHaveLength(1)
  })

  it('take a shadow that is only sometimes one for a policy that may refuse', () => {
    const trying: boolean = Math.random() < 2
    const limiter = createLimiter({
      policies: [tokenBucket({ name: 'new', capacity: 9, refillPerSecond: 1, shadow: trying })],
    })
    expectTypeOf(limiter).toEqualTypeOf<Limiter<'new', 'client', never, 'new'>>()
    expect(limiter.policies).toEqual([])
  })
})
