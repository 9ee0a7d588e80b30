import {
  type Charge,
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterEvent,
  leakyBucket,
  type OnStoreFailure,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { type TestClock, testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { type FarStore, farStore, full, refused } from './store.js'

const minute = fixedWindow({ name: 'minute', quota: 100, windowSeconds: 60 })
const share = (instances: number | (() => number)): OnStoreFailure => ({ local: { instances } })

interface Setting {
  readonly clock?: TestClock
  readonly store?: FarStore
  readonly policies?: readonly Policy[]
  readonly onStoreFailure?: OnStoreFailure
  readonly blocks?: boolean
  readonly shards?: { readonly client: number }
}

/** The same for every kind of partition. */
function partitionOf(who: string, policies: readonly Policy[]): Record<string, string> {
  return Object.fromEntries(policies.map(({ by }) => [by, who]))
}

/** A limiter that has asked its store once, and so knows its time. */
async function open(setting: Setting = {}) {
  const { clock = testClock(), policies = [minute], onStoreFailure = share(4), ...rest } = setting
  const { store = farStore(clock) } = setting
  const events: LimiterEvent[] = []
  const limiter = createLimiter({
    ...{ policies, store, clock, onStoreFailure, denyCache: false, onEvent: (event) => events.push(event) },
    ...rest,
  })
  await clock.runUntil(limiter.peek(partitionOf('nobody', policies)))
  return { clock, store, limiter, events }
}

/** How many of so many calls are admitted. */
async function admitted(clock: TestClock, limiter: Limiter, calls: number, who = 'a'): Promise<number> {
  let count = 0
  for (let call = 0; call < calls; call += 1)
    if ((await clock.runUntil(limiter.consume(who))).allowed) count += 1
  return count
}

/** What the store itself says is left, once whatever is on its way has come. */
async function left(clock: TestClock, limiter: Limiter, who = 'a'): Promise<number | undefined> {
  for (let turn = 0; turn < 20; turn += 1) await clock.advance(0)
  const decision = await clock.runUntil(limiter.peek(who))
  expect(decision.source).toBe('store')
  return 'limits' in decision ? decision.limits[0]?.available : undefined
}

/** Has whatever is to change what some have used wait. @returns what lets it go on */
function held(store: FarStore, who = /./): () => void {
  const { run } = store
  let go = () => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  store.run = async (ops, deadlineMs) => {
    for (const op of ops) {
      const [first] = op.kind === 'adjust' ? op.changes : op.kind === 'consume' ? op.charges : []
      if (first !== undefined && who.test(first.owner.value)) await gone
    }
    return run(ops, deadlineMs)
  }
  return go
}

const used =
  (limiter: Limiter, clock: TestClock) =>
  async (who = 'a') =>
    100 - ((await left(clock, limiter, who)) ?? 100)

/** A charge of 'a' by the policy of a limiter. */
function chargeOf({ policies: [policy] }: Limiter, cost: number): Charge {
  return { policy: policy as Policy, owner: { kind: 'client', value: 'a' }, cost }
}

/** Policies of one kind, so that few calls make many buckets. */
function tenOf(make: (name: string) => Policy): readonly Policy[] {
  return Array.from({ length: 10 }, (_, nth) => make(`p${nth}`))
}

describe('a process without its store', () => {
  it('grants its share and says that it is the one who answers', async () => {
    const { clock, store, limiter, events } = await open()
    store.fare(refused())
    expect(await clock.runUntil(limiter.consume('a'))).toMatchObject({
      outcome: 'admitted',
      source: 'local',
      limits: [{ policy: 'minute', quota: 100, available: 24 }],
    })
    expect(await admitted(clock, limiter, 30)).toBe(24)
    expect(await clock.runUntil(limiter.consume('a'))).toMatchObject({
      outcome: 'refused',
      source: 'local',
      violated: ['minute'],
      limits: [{ quota: 100, available: 0 }],
    })
    expect(events[0]).toMatchObject({ type: 'degraded', mode: 'local', reason: 'disconnected' })
  })

  it('waits no longer than the store would have made it: obeying the refusal passes', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    await admitted(clock, limiter, 25)
    const refusal = await clock.runUntil(limiter.consume('a'))
    expect(refusal).toMatchObject({ outcome: 'refused' })
    await clock.advance('retryAfterSeconds' in refusal ? Number(refusal.retryAfterSeconds) * 1000 : 0)
    expect((await clock.runUntil(limiter.consume('a'))).outcome).toBe('admitted')
  })

  it.each([
    [100, 4, 100],
    [10, 4, 8],
    [3, 8, 8],
  ])(
    'with a quota of %i in %i processes all together admit %i in a window that lies in the outage',
    async (quota, instances, total) => {
      const clock = testClock()
      const store = farStore(clock)
      const policies = [fixedWindow({ name: 'minute', quota, windowSeconds: 60 })]
      const onStoreFailure = share(instances)
      const fleet: Limiter[] = []
      while (fleet.length < instances)
        fleet.push((await open({ clock, store, policies, onStoreFailure })).limiter)
      store.fare(refused())
      for (let window = 0; window < 3; window += 1) {
        let sum = 0
        for (const limiter of fleet) sum += await admitted(clock, limiter, quota)
        expect(sum).toBe(total)
        await clock.advance(60_000)
      }
    },
  )

  it.each([
    [80, 8, 20, 4],
    [80, 8, 4, 20],
    [1000, 100, 11, 90],
    [100, 10, 150, 1],
  ])(
    'of a quota of %i on %i shards one of %i processes grants %i, and it is charged on shards',
    async (quota, count, instances, total) => {
      const policies = [fixedWindow({ name: 'minute', quota, windowSeconds: 60 })]
      const { clock, store, limiter } = await open({
        policies,
        shards: { client: count },
        onStoreFailure: share(instances),
        blocks: true,
      })
      store.fare(refused())
      const first = await clock.runUntil(limiter.consume('a'))
      expect(first).toMatchObject({ source: 'local', limits: [{ quota, available: total - 1 }] })
      expect(await admitted(clock, limiter, quota)).toBe(total - 1)
      expect(await clock.runUntil(limiter.refund(first))).toBe(true)
      expect(await admitted(clock, limiter, 2)).toBe(1)
      const before = store.asked.length
      store.fare('up')
      await clock.advance(1000)
      await clock.runUntil(limiter.peek('other'))
      for (let turn = 0; turn < 50; turn += 1) await clock.advance(0)
      const changes = store.asked.slice(before).flatMap((op) => (op.kind === 'adjust' ? op.changes : []))
      expect(changes.reduce((sum, { units }) => sum + units, 0)).toBe(total)
      expect(changes.every(({ owner: { shard } }) => shard !== undefined && shard < count)).toBe(true)
      await clock.runUntil(limiter.reset('a'))
      await clock.runUntil(limiter.block('b', 60))
      store.fare(refused())
      expect(await admitted(clock, limiter, total + 1)).toBe(total)
      expect((await clock.runUntil(limiter.consume('b'))).outcome).toBe('blocked')
    },
  )

  it('begins with the part that one shard had left', async () => {
    const { clock, store, limiter } = await open({ shards: { client: 2 }, onStoreFailure: share(1) })
    for (let call = 0; call < 60; call += 1) await clock.runUntil(limiter.consume('a'))
    store.fare(refused())
    const count = await admitted(clock, limiter, 101)
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThanOrEqual(95)
  })

  it('begins with the part that a partition had left when it was last seen', async () => {
    const { clock, store, limiter } = await open()
    await clock.runUntil(limiter.consume('a', { cost: 80 }))
    store.fare(refused())
    expect(await admitted(clock, limiter, 30)).toBe(5)
    expect(await admitted(clock, limiter, 30, 'never seen')).toBe(25)
    await clock.advance(60_000)
    expect(await admitted(clock, limiter, 30)).toBe(25)
  })

  it('goes on where it stopped in an outage that comes again, if the store has not been asked since', async () => {
    const { clock, store, limiter } = await open()
    for (let round = 0; round < 4; round += 1) {
      store.fare(refused())
      expect(await admitted(clock, limiter, 30)).toBe(round === 0 ? 25 : 0)
      store.fare('up')
      await clock.advance(1000)
      expect((await clock.runUntil(limiter.consume('another'))).source).toBe('store')
    }
  })

  it.each([
    ['looks', async (clock: TestClock, limiter: Limiter) => clock.runUntil(limiter.peek('a'))],
    [
      'dear calls that the store refuses',
      async (clock: TestClock, limiter: Limiter) => clock.runUntil(limiter.consume('a', { cost: 100 })),
    ],
  ])(
    'grants its share once from a store that can be read and not written, with %s between',
    async (_, look) => {
      for (const policy of [
        minute,
        tokenBucket({ name: 'p', capacity: 100, refillPerSecond: 0.001 }),
        slidingWindowLog({ name: 'p', quota: 100, windowSeconds: 3600 }),
        slidingWindowCounter({ name: 'p', quota: 100, windowSeconds: 3600 }),
      ]) {
        const { clock, store, limiter } = await open({ policies: [policy] })
        await clock.runUntil(limiter.consume('a'))
        store.fareWriting(full())
        let count = 0
        for (let round = 0; round < 40; round += 1) {
          expect((await look(clock, limiter)).source).toBe('store')
          count += await admitted(clock, limiter, 1)
          await clock.advance(1)
        }
        expect(count).toBe(24)
        store.fareWriting('up')
        await clock.advance(1000)
        expect((await clock.runUntil(limiter.peek('b'))).source).toBe('store')
        expect(await left(clock, limiter)).toBe(75)
      }
    },
  )

  it('leaves places to those who hold them, whatever the store says of its own', async () => {
    const { clock, store, limiter } = await open({
      policies: [concurrency({ name: 'reports', limit: 8, leaseSeconds: 60 })],
    })
    store.fareWriting(full())
    for (const count of [2, 0, 0]) {
      expect(await admitted(clock, limiter, 3)).toBe(count)
      await clock.advance(1000)
      expect((await clock.runUntil(limiter.peek('a'))).source).toBe('store')
    }
  })

  it('tells once that it goes by itself, and that it does no longer when something was written', async () => {
    const { clock, store, limiter, events } = await open()
    store.fareWriting(full())
    for (let round = 0; round < 20; round += 1) {
      await admitted(clock, limiter, 1)
      await clock.runUntil(limiter.peek('a'))
      await clock.advance(100)
    }
    const told = () => events.map(({ type }) => type).filter((type) => type !== 'breaker')
    expect(new Set(told())).toEqual(new Set(['degraded']))
    store.fareWriting('up')
    await clock.advance(2000)
    await clock.runUntil(limiter.consume('b'))
    expect(told().filter((type) => type === 'recovered')).toEqual(['recovered'])
  })

  it('refuses as unavailable what costs more than its share, and never as too much', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    expect(await clock.runUntil(limiter.consume('a', { cost: 26 }))).toEqual({
      outcome: 'unavailable',
      allowed: false,
      retryAfterSeconds: 5,
      source: 'none',
      shadow: [],
    })
    expect((await clock.runUntil(limiter.consume('a', { cost: 25 }))).outcome).toBe('admitted')
    expect((await clock.runUntil(limiter.consume('a', { cost: 101 }))).outcome).toBe('impossible')
  })

  it('keeps out who was blocked when last seen, for as long as he is', async () => {
    const { clock, store, limiter } = await open({ blocks: true })
    await clock.runUntil(limiter.block('a', 30))
    await clock.runUntil(limiter.consume('a'))
    store.fare(refused())
    await clock.advance(10_000)
    expect(await clock.runUntil(limiter.consume('a'))).toMatchObject({
      outcome: 'blocked',
      source: 'local',
      retryAfterSeconds: 20,
    })
    await clock.advance(20_000)
    expect((await clock.runUntil(limiter.consume('a'))).outcome).toBe('admitted')
  })

  it('goes by what this process itself did last: blocks, their ends, resets and what was given back or settled', async () => {
    const slow = [
      tokenBucket({ name: 'p', capacity: 10, refillPerSecond: 0.001 }),
      fixedWindow({ name: 'p', quota: 10, windowSeconds: 3600 }),
      fixedWindow({ name: 'p', quota: 10, windowSeconds: 3600, anchor: 'first-request' }),
      slidingWindowCounter({ name: 'p', quota: 10, windowSeconds: 3600 }),
      slidingWindowLog({ name: 'p', quota: 10, windowSeconds: 3600 }),
    ]
    for (const policy of slow) {
      const { clock, store, limiter } = await open({
        policies: [policy],
        blocks: true,
        onStoreFailure: share(1),
      })
      const soon = <T>(promise: Promise<T>) => clock.runUntil(promise)
      await soon(limiter.consume('blocked'))
      await soon(limiter.block('blocked', 60))
      await soon(limiter.block('free', 'forever'))
      await soon(limiter.consume('free'))
      await soon(limiter.unblock('free'))
      await soon(limiter.consume('reset', { cost: 10 }))
      await soon(limiter.reset('reset'))
      await soon(limiter.settle(await soon(limiter.consume('settled', { cost: 10 })), 1))
      await soon(limiter.refund(await soon(limiter.consume('refunded', { cost: 10 }))))
      await soon(limiter.settle(await soon(limiter.consume('dearer')), 10))
      store.fare(refused())
      const found: Record<string, unknown> = {}
      for (const who of ['blocked', 'free', 'reset', 'settled', 'refunded', 'dearer']) {
        const decision = await soon(limiter.consume(who))
        expect(decision.source).toBe('local')
        found[who] = decision.outcome === 'admitted' ? decision.limits[0]?.available : decision.outcome
      }
      expect(found).toEqual({
        blocked: 'blocked',
        free: 9,
        reset: 9,
        settled: 8,
        refunded: 9,
        dearer: 'refused',
      })
    }
  })

  it('forgets at a reset what it granted and has not been charged', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    expect(await admitted(clock, limiter, 25)).toBe(25)
    await clock.advance(1000)
    store.fare('up')
    await clock.runUntil(limiter.reset('a'))
    expect(await left(clock, limiter)).toBe(100)
    expect(await left(clock, limiter)).toBe(100)
    store.fare(refused())
    expect(await admitted(clock, limiter, 30)).toBe(25)
  })

  it('keeps out who was blocked by this process, with whomever he comes', async () => {
    const { clock, store, limiter } = await open({
      policies: [minute, fixedWindow({ name: 'account', by: 'account', quota: 100, windowSeconds: 60 })],
      blocks: true,
    })
    await clock.runUntil(limiter.block({ client: 'a' } as never, 'forever'))
    const call = async (client: string, account: string) =>
      (await clock.runUntil(limiter.consume({ client, account } as never))).outcome
    expect(await call('a', '1')).toBe('blocked')
    store.fare(refused())
    expect([await call('a', '1'), await call('a', '2'), await call('b', '1')]).toEqual([
      'blocked',
      'blocked',
      'admitted',
    ])
    store.fare('up')
    await clock.advance(1000)
    await clock.runUntil(limiter.unblock({ client: 'a' } as never))
    store.fare(refused())
    expect([await call('a', '1'), await call('a', '2')]).toEqual(['admitted', 'admitted'])
  })

  it('counts a call that is sent again by its id once', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    await clock.runUntil(limiter.consume('a', { id: 'x' }))
    expect(await clock.runUntil(limiter.consume('a', { id: 'x' }))).toMatchObject({ replayed: true })
    const other = await clock.runUntil(limiter.consume('a', { id: 'y' }))
    expect(await clock.runUntil(limiter.refund(other))).toBe(true)
    const again = await clock.runUntil(limiter.consume('a', { id: 'y' }))
    expect(again).toMatchObject({ replayed: false })
    await clock.runUntil(limiter.refund(again))
    store.fare('up')
    await clock.advance(1000)
    await left(clock, limiter)
    expect(await left(clock, limiter)).toBe(99)
  })

  it('bounds calls that run at once, and gives their places back', async () => {
    const { clock, store, limiter } = await open({
      policies: [concurrency({ name: 'reports', limit: 8, leaseSeconds: 60 })],
    })
    store.fare(refused())
    const first = await clock.runUntil(limiter.consume('a'))
    expect(await admitted(clock, limiter, 3)).toBe(1)
    expect(await clock.runUntil(limiter.renew(first))).toBe(true)
    expect(await clock.runUntil(limiter.release(first))).toBe(true)
    expect(await admitted(clock, limiter, 3)).toBe(1)
  })

  it('refuses as unavailable whom it has no place left to note', async () => {
    const policies = tenOf((name) => concurrency({ name, limit: 8, leaseSeconds: 60 }))
    const { clock, store, limiter } = await open({ policies })
    store.fare(refused())
    for (let i = 0; i < 10_000; i += 1) await limiter.consume(`client-${i}`)
    expect(await clock.runUntil(limiter.consume('one too many'))).toMatchObject({ outcome: 'unavailable' })
    expect(await clock.runUntil(limiter.consume('client-0'))).toMatchObject({
      source: 'local',
      allowed: true,
    })
  })

  it('asks at each call how many processes there are, and believes no nonsense', async () => {
    let instances: unknown = 10
    const { clock, store, limiter } = await open({ onStoreFailure: share(() => instances as number) })
    store.fare(refused())
    expect(await admitted(clock, limiter, 30)).toBe(10)
    instances = 5
    expect(await admitted(clock, limiter, 30)).toBe(10)
    for (instances of [0, Number.NaN, 1.5, 'all', undefined])
      expect(await admitted(clock, limiter, 1)).toBe(0)
  })

  it('does so for one call where the limiter does otherwise', async () => {
    const { clock, store, limiter } = await open({ onStoreFailure: 'open' })
    await clock.runUntil(limiter.consume('a', { onStoreFailure: share(4) }))
    store.fare(refused())
    const consume = (onStoreFailure?: OnStoreFailure) =>
      clock.runUntil(limiter.consume('a', onStoreFailure && { onStoreFailure }))
    expect((await consume()).outcome).toBe('unchecked')
    expect((await consume('closed')).outcome).toBe('unavailable')
    expect(await consume(share(4))).toMatchObject({ source: 'local', limits: [{ available: 24 - 1 }] })
  })

  it('peeks without taking', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    for (let look = 0; look < 3; look += 1)
      expect(await clock.runUntil(limiter.peek('a'))).toMatchObject({
        source: 'local',
        limits: [{ available: 25 }],
      })
  })

  it('refuses what it cannot count because its plan is not found in time', async () => {
    const clock = testClock()
    const limiter = createLimiter({
      plans: { free: [minute] },
      store: farStore(clock),
      clock,
      onStoreFailure: share(2),
    })
    const never = () => new Promise<'free'>(() => {})
    expect((await clock.runUntil(limiter.consume('a', { plan: never }))).outcome).toBe('unavailable')
  })
})

describe('when the store answers again', () => {
  const slow: readonly (readonly [name: string, policy: Policy])[] = [
    ['token bucket', tokenBucket({ name: 'p', capacity: 100, refillPerSecond: 0.01 })],
    ['leaky bucket', leakyBucket({ name: 'p', capacity: 100, leakPerSecond: 0.01 })],
    ['fixed window', fixedWindow({ name: 'p', quota: 100, windowSeconds: 3600 })],
    [
      'fixed window of its own',
      fixedWindow({ name: 'p', quota: 100, windowSeconds: 3600, anchor: 'first-request' }),
    ],
    ['sliding window counter', slidingWindowCounter({ name: 'p', quota: 100, windowSeconds: 3600 })],
    ['sliding window log', slidingWindowLog({ name: 'p', quota: 100, windowSeconds: 3600 })],
  ]

  it.each(slow)('what a %s granted meanwhile is charged, once', async (_, policy) => {
    const { clock, store, limiter } = await open({ policies: [policy] })
    await clock.runUntil(limiter.consume('seen'))
    store.fare(refused())
    for (const who of ['seen', 'new']) expect(await admitted(clock, limiter, 10, who)).toBe(10)
    store.fare('up')
    await clock.advance(1000)
    expect((await clock.runUntil(limiter.peek('other'))).source).toBe('store')
    const count = used(limiter, clock)
    expect([await count('seen'), await count('new')]).toEqual([11, 10])
    expect([await count('seen'), await count('new')]).toEqual([11, 10])
  })

  it.each([
    ['fixed window', fixedWindow({ name: 'p', quota: 100, windowSeconds: 60 }), 61],
    [
      'fixed window of its own',
      fixedWindow({ name: 'p', quota: 100, windowSeconds: 60, anchor: 'first-request' }),
      61,
    ],
    ['sliding window counter', slidingWindowCounter({ name: 'p', quota: 100, windowSeconds: 60 }), 121],
    ['sliding window log', slidingWindowLog({ name: 'p', quota: 100, windowSeconds: 60 }), 61],
    ['token bucket', tokenBucket({ name: 'p', capacity: 100, refillPerSecond: 1 }), 61],
  ])('nothing is charged that a %s has forgotten by then', async (_, policy, seconds) => {
    const { clock, store, limiter } = await open({ policies: [policy] })
    store.fare(refused())
    expect(await admitted(clock, limiter, 10)).toBe(10)
    await clock.advance(seconds * 1000)
    store.fare('up')
    expect((await clock.runUntil(limiter.peek('other'))).source).toBe('store')
    expect(await left(clock, limiter)).toBe(100)
  })

  it('a bucket is charged no more than its share holds, however long the outage was', async () => {
    const { clock, store, limiter } = await open({
      policies: [tokenBucket({ name: 'p', capacity: 100, refillPerSecond: 4 })],
    })
    store.fare(refused())
    for (let second = 0; second < 300; second += 1) {
      await admitted(clock, limiter, 5)
      await clock.advance(1000)
    }
    store.fare('up')
    await clock.runUntil(limiter.peek('other'))
    const charged = await used(limiter, clock)()
    expect(charged).toBeGreaterThanOrEqual(20)
    expect(charged).toBeLessThanOrEqual(25)
  })

  it('a call whose charge may have reached the store is not charged again', async () => {
    const { clock, store, limiter } = await open()
    const run = store.run
    // It carries out what it is asked, and its answer is lost.
    store.run = (ops, deadlineMs) => {
      void run(ops, deadlineMs)
      return new Promise(() => {})
    }
    expect(await admitted(clock, limiter, 3)).toBe(3)
    store.run = run
    await clock.advance(1000)
    expect(await left(clock, limiter)).toBe(97)
    expect(await left(clock, limiter)).toBe(97)
  })

  it('a charge that may have been made when the store fails again is not made twice, and one that was not is', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    await admitted(clock, limiter, 10)
    await admitted(clock, limiter, 10, 'b')
    await clock.advance(1000)
    const run = store.run
    store.fare('up')
    store.run = (ops, deadlineMs) => {
      if (ops[0]?.kind !== 'adjust') return run(ops, deadlineMs)
      void run(ops, deadlineMs)
      return new Promise(() => {})
    }
    expect((await clock.runUntil(limiter.peek('other'))).source).toBe('store')
    await clock.advance(1000)
    store.run = run
    await clock.runUntil(limiter.peek('other'))
    const count = used(limiter, clock)
    expect([await count('a'), await count('b')]).toEqual([10, 10])
  })

  it('many partitions are charged apart from any request, a few at a time', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    for (let i = 0; i < 100; i += 1) await admitted(clock, limiter, 2, `client-${i}`)
    await clock.advance(1000)
    store.fare('up')
    const before = store.asked.length
    expect((await limiter.peek('other')).source).toBe('store')
    expect(store.asked.length - before).toBeLessThanOrEqual(3)
    const count = used(limiter, clock)
    for (let i = 0; i < 100; i += 1) expect(await count(`client-${i}`)).toBe(2)
    expect(store.asked.filter(({ kind }) => kind === 'adjust').length).toBe(100)
  })

  it('a flood of others makes nobody forgotten who has used up much', async () => {
    const policies = tenOf((name) => fixedWindow({ name, quota: 100, windowSeconds: 60 }))
    const { clock, store, limiter } = await open({ onStoreFailure: share(1), policies })
    store.fare(refused())
    await admitted(clock, limiter, 90, 'busy')
    for (let i = 0; i < 10_100; i += 1) await limiter.consume(`flood-${i}`)
    expect(await admitted(clock, limiter, 20, 'busy')).toBe(10)
    await clock.advance(1000)
    store.fare('up')
    await limiter.peek('other')
    const decision = await limiter.peek('busy')
    expect(decision.source).toBe('store')
    const limits = 'limits' in decision ? decision.limits : []
    expect(limits.map(({ available }) => available)).toEqual(policies.map(() => 0))
    // The rest is not waited for.
    store.fare(refused())
  })

  it.each([
    ['fixed window', minute],
    ['sliding window log', slidingWindowLog({ name: 'p', quota: 100, windowSeconds: 60 })],
  ])('what a %s owes is charged before the next call of the same partition', async (_, policy) => {
    const { clock, store, limiter } = await open({ policies: [policy] })
    store.fare(refused())
    for (let i = 0; i < 100; i += 1) expect(await admitted(clock, limiter, 25, `client-${i}`)).toBe(25)
    await clock.advance(1000)
    store.fare('up')
    expect((await limiter.peek('other')).source).toBe('store')
    const calls = Array.from({ length: 100 }, () => limiter.consume('client-99'))
    const decisions = await clock.runUntil(Promise.all(calls))
    expect(decisions.map(({ source }) => source)).toEqual(calls.map(() => 'store'))
    expect(decisions.filter(({ allowed }) => allowed).length).toBe(75)
    const count = used(limiter, clock)
    expect([await count('client-98'), await count('client-99')]).toEqual([25, 100])
  })

  it('what was owed for a window that is over pushes out nothing that counts', async () => {
    const clock = testClock()
    const store = farStore(clock, 5000)
    const policies = [fixedWindow({ name: 'second', quota: 100, windowSeconds: 1 })]
    const { limiter } = await open({ clock, store, policies })
    store.fare(refused())
    expect(await admitted(clock, limiter, 5)).toBe(5)
    store.fare('up')
    const go = held(store, /^a$/)
    store.tell({ type: 'connected' })
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(0)
    store.fare(refused())
    await clock.advance(1100)
    const { run } = store
    store.run = async () => {
      throw refused()
    }
    expect(await admitted(clock, limiter, 7)).toBe(7)
    go()
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(0)
    expect(await admitted(clock, limiter, 1)).toBe(1)
    store.run = run
    store.fare('up')
    store.tell({ type: 'connected' })
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(0)
    expect(await used(limiter, clock)()).toBe(8)
  })

  it('a connection that is there again is enough, with no call to wait for', async () => {
    const { clock, store, limiter } = await open()
    store.fare(refused())
    await admitted(clock, limiter, 10)
    store.fare('up')
    store.tell({ type: 'connected' })
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(0)
    expect(store.asked.at(-1)).toMatchObject({ kind: 'adjust', changes: [{ units: 10 }] })
  })

  it.each(
    slow.flatMap(([name, policy]) =>
      (['before', 'after'] as const).map((when) => [name, when, policy] as const),
    ),
  )('what of a %s is given back %s it is charged is not charged in the end', async (_, when, policy) => {
    const { clock, store, limiter } = await open({ policies: [policy] })
    await clock.runUntil(limiter.consume('seen'))
    await clock.advance(5000)
    const count = used(limiter, clock)
    for (const who of ['seen', 'new']) {
      store.fare(refused())
      const before = who === 'seen' ? 1 : 0
      const whole = await clock.runUntil(limiter.consume(who, { cost: 5 }))
      const part = await clock.runUntil(limiter.consume(who, { cost: 5 }))
      const dearer = await clock.runUntil(limiter.consume(who, { cost: 5 }))
      const change = async () => {
        expect(await clock.runUntil(limiter.refund(whole))).toBe(true)
        expect(await clock.runUntil(limiter.refund(whole))).toBe(false)
        expect(await clock.runUntil(limiter.settle(dearer, 7))).toBe(true)
        expect(await clock.runUntil(limiter.refund(part, 2))).toBe(true)
      }
      if (when === 'before') await change()
      store.fare('up')
      await clock.advance(1000)
      await clock.runUntil(limiter.peek('other'))
      await left(clock, limiter)
      if (when === 'before') {
        expect(await count(who)).toBe(before + 10)
        continue
      }
      expect(await count(who)).toBe(before + 15)
      await change()
      expect(await count(who)).toBe(before + 10)
      expect(await clock.runUntil(limiter.refund(part))).toBe(true)
      expect(await count(who)).toBe(before + 7)
    }
  })

  it('what a log was charged is given back though it was charged in two outages', async () => {
    const policies = [slidingWindowLog({ name: 'p', quota: 100, windowSeconds: 3600 })]
    const { clock, store, limiter } = await open({ policies })
    const made = []
    for (let outage = 0; outage < 2; outage += 1) {
      store.fare(refused())
      made.push(await clock.runUntil(limiter.consume('a', { cost: 8 })))
      store.fare('up')
      await clock.advance(2000)
      await clock.runUntil(limiter.peek('other'))
      expect(await used(limiter, clock)()).toBe(8 * (outage + 1))
    }
    const [first, second] = made as [Decision, Decision]
    for (const [decision, rest] of [
      [first, 8],
      [second, 0],
    ] as const) {
      expect(await clock.runUntil(limiter.refund(decision))).toBe(true)
      expect(await used(limiter, clock)()).toBe(rest)
    }
  })

  it('nothing is given back of what could not be charged, and that is said', async () => {
    const policies = [slidingWindowLog({ name: 'p', quota: 100, windowSeconds: 3600 })]
    const { clock, store, limiter } = await open({ policies })
    await clock.runUntil(limiter.consume('other'))
    store.fare(refused())
    const meanwhile = await clock.runUntil(limiter.consume('a', { cost: 5 }))
    store.fare('up')
    await clock.advance(2000)
    // Others have used all of it.
    await store.run([{ kind: 'consume', charges: [chargeOf(limiter, 100)], lease: '', blocks: [] }], 1000)
    await clock.runUntil(limiter.peek('other'))
    expect(await left(clock, limiter)).toBe(0)
    expect(await clock.runUntil(limiter.refund(meanwhile))).toBe(false)
    expect(await left(clock, limiter)).toBe(0)
  })

  describe.each(slow)('what is given back of a %s', (_, policy) => {
    it('while it is charged is given back when it has been', async () => {
      const { clock, store, limiter } = await open({ policies: [policy] })
      store.fare(refused())
      const whole = await clock.runUntil(limiter.consume('a', { cost: 5 }))
      const part = await clock.runUntil(limiter.consume('a', { cost: 5 }))
      const dearer = await clock.runUntil(limiter.consume('a', { cost: 5 }))
      await clock.advance(1000)
      store.fare('up')
      const go = held(store)
      await clock.runUntil(limiter.peek('other'))
      expect(await clock.runUntil(limiter.refund(whole))).toBe(true)
      expect(await clock.runUntil(limiter.refund(part, 2))).toBe(true)
      expect(await clock.runUntil(limiter.settle(dearer, 7))).toBe(true)
      go()
      await left(clock, limiter)
      expect(await used(limiter, clock)()).toBe(10)
    })

    it('is not lost when the store fails again while others are being charged', async () => {
      const { clock, store, limiter } = await open({ policies: [policy] })
      store.fare(refused())
      for (let i = 0; i < 5; i += 1) await admitted(clock, limiter, 1, `client-${i}`)
      await clock.advance(1000)
      store.fare('up')
      const go = held(store, /client/)
      await clock.runUntil(limiter.peek('other'))
      store.fare(refused())
      const first = await clock.runUntil(limiter.consume('a', { cost: 10 }))
      const second = await clock.runUntil(limiter.consume('a', { cost: 10 }))
      expect([first.source, second.source]).toEqual(['local', 'local'])
      store.fare('up')
      await clock.runUntil(limiter.peek('other'))
      expect(await used(limiter, clock)()).toBe(20)
      expect(await clock.runUntil(limiter.refund(first))).toBe(true)
      expect(await used(limiter, clock)()).toBe(10)
      go()
      store.fare(refused())
      const third = await clock.runUntil(limiter.consume('a', { cost: 3 }))
      expect(await clock.runUntil(limiter.refund(second))).toBe(true)
      expect(await clock.runUntil(limiter.refund(third))).toBe(true)
      store.fare('up')
      await clock.advance(1000)
      await clock.runUntil(limiter.peek('other'))
      expect(await used(limiter, clock)()).toBe(0)
    })
  })
})

it.each([
  ['half', 'Expected onStoreFailure to be "open", "closed" or { local: { instances } }, got "half"'],
  [{ local: 4 }, 'Expected onStoreFailure.local to be an object such as { instances: 4 }, got 4'],
  [
    { local: { instances: 0 } },
    'Expected onStoreFailure.local.instances to be a whole number from 1 to 1000000',
  ],
  [{ local: { instances: 1.5 } }, 'got 1.5'],
  [{ local: { instance: 4 } }, 'Unknown option "instance" of onStoreFailure.local'],
  [{ local: { instances: 4 }, open: true }, 'Unknown option "open" of onStoreFailure'],
  [null, 'got null'],
])('refuses onStoreFailure %j', async (onStoreFailure, message) => {
  await expect(open({ onStoreFailure: onStoreFailure as never })).rejects.toThrow(message)
  const { limiter } = await open()
  await expect(limiter.consume('a', { onStoreFailure: onStoreFailure as never })).rejects.toThrow(message)
})
