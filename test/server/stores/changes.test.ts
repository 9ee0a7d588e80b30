import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  leakyBucket,
  type Op,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  type TokenBucketPolicy,
  tokenBucket,
} from '@ratepact/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { benches } from './stores.js'

const bucket = (capacity: number, refillPerSecond = 0.001) =>
  tokenBucket({ name: 'limit', capacity, refillPerSecond })
const queue = (capacity: number, leakPerSecond = 0.001) =>
  leakyBucket({ name: 'limit', capacity, leakPerSecond })
const calendar = (quota: number, windowSeconds = 86_400) =>
  fixedWindow({ name: 'limit', quota, windowSeconds })
const anchored = (quota: number, windowSeconds = 86_400) =>
  fixedWindow({ name: 'limit', quota, windowSeconds, anchor: 'first-request' })
const counter = (quota: number, windowSeconds = 86_400) =>
  slidingWindowCounter({ name: 'limit', quota, windowSeconds })
const log = (quota: number, windowSeconds = 86_400) =>
  slidingWindowLog({ name: 'limit', quota, windowSeconds })
const places = (limit: number, leaseSeconds = 86_400) => concurrency({ name: 'limit', limit, leaseSeconds })

const algorithms: readonly (readonly [string, (quota: number, other?: number) => Policy])[] = [
  ['token bucket', bucket],
  ['leaky bucket', queue],
  ['fixed window of the calendar', calendar],
  ['fixed window from the first call', anchored],
  ['sliding window counter', counter],
  ['sliding window log', log],
  ['concurrency', places],
]

/** Whatever a decision states is a limit that can be. */
function expectSound(decision: Decision): void {
  for (const { available, quota, effectiveWindowSeconds = 1, effectiveWindowMs = 1 } of limitsOf(decision)) {
    expect(available).toBeGreaterThanOrEqual(0)
    expect(available).toBeLessThanOrEqual(quota)
    expect(effectiveWindowSeconds).toBeGreaterThanOrEqual(1)
    expect(effectiveWindowMs).toBeGreaterThanOrEqual(0)
  }
  if (decision.outcome === 'refused') expect(decision.retryAfterSeconds).toBeGreaterThan(0)
}

function limitsOf(decision: Decision) {
  return 'limits' in decision ? decision.limits : []
}

for (const bench of benches)
  describe(`numbers that change on ${bench.name}`, () => {
    beforeAll(() => bench.start())
    afterAll(() => bench.stop())

    function open() {
      const under = bench.open()
      onTestFinished(() => under.store.close())
      const settings = { store: under.store, onStoreFailure: 'closed', denyCache: false } as const
      return {
        advance: under.advance,
        settings,
        /** One process of several, each with the numbers that it was deployed with. */
        by: (...policies: readonly Policy[]): Limiter =>
          createLimiter({ ...settings, policies }) as unknown as Limiter,
      }
    }

    /** Calls made at once, taken in turn by processes; how many were admitted. */
    async function load(times: number, ...processes: readonly Limiter[]): Promise<number> {
      const calls = Array.from({ length: times }, (_, i) => processes[i % processes.length]?.consume('a'))
      const decisions = (await Promise.all(calls)).filter((decision) => decision !== undefined)
      for (const decision of decisions) expectSound(decision)
      return decisions.filter(({ allowed }) => allowed).length
    }

    describe.each(algorithms)('of a %s, while calls run on old and new processes', (_, policy) => {
      it.each([
        ['raised tenfold', 10, 100],
        ['lowered to a tenth', 100, 10],
        ['lowered by one', 10, 9],
      ])('let no more pass than the larger quota when the quota is %s', async (_how, before, after) => {
        const { by } = open()
        const [old, fresh] = [by(policy(before)), by(policy(after))]
        const first = await load(5, old)
        const mixed = await load(250, old, fresh)
        const last = await load(150, fresh)
        expect(first).toBe(5)
        // Each process goes by its own number: what one has room for, it lets pass.
        expect(first + mixed + last).toBe(Math.max(before, after))
      })

      it('let no more pass than the larger quota when quota and time change together', async () => {
        const { by } = open()
        const time = (seconds: number) => (policy === bucket || policy === queue ? 1 / seconds : seconds)
        const [old, fresh] = [by(policy(100, time(1000))), by(policy(10, time(8000)))]
        const passed = (await load(5, old)) + (await load(250, old, fresh)) + (await load(150, fresh, old))
        expect(passed).toBeLessThanOrEqual(100)
        expect(passed).toBeGreaterThanOrEqual(99)
      })

      it.each([
        ['longer', 1000, 80_000],
        ['shorter', 80_000, 1000],
      ])('let no more pass than the quota when time grows %s', async (_how, before, after) => {
        const { by } = open()
        // Of a bucket the second number is a rate.
        const time = (seconds: number) => (policy === bucket || policy === queue ? 1 / seconds : seconds)
        const [old, fresh] = [by(policy(20, time(before))), by(policy(20, time(after)))]
        const passed = (await load(5, old)) + (await load(60, old, fresh)) + (await load(30, fresh))
        expect(passed).toBeLessThanOrEqual(20)
        // Each change of rate is rounded against the caller, by less than a unit in all.
        expect(passed).toBeGreaterThanOrEqual(19)
      })
    })

    it.each<[string, Policy, Policy, number]>([
      ['the capacity of a token bucket', bucket(10), bucket(100), 0],
      ['the rate of a token bucket', bucket(10), bucket(10, 4), 250],
      ['capacity and rate of a token bucket tenfold', bucket(10, 0.1), bucket(100, 1), 1000],
      ['the rate of a leaky bucket', queue(10), queue(10, 4), 250],
      ['the quota of a calendar window', calendar(10), calendar(100), 0],
      ['a calendar window to a shorter one', calendar(10), calendar(10, 2), 2000],
      ['the quota of a window from the first call', anchored(10), anchored(100), 0],
      ['a window from the first call to a shorter one', anchored(10), anchored(10, 2), 2000],
      ['the quota of a sliding window counter', counter(10), counter(100), 0],
      // Its units go as the next window takes the place of the one in which they were used.
      ['a sliding window counter to a shorter one', counter(10), counter(10, 2), 2200],
      ['the quota of a sliding window log', log(10), log(100), 0],
      ['a sliding window log to a shorter one', log(10), log(10, 2), 2000],
      ['the limit on concurrency', places(10), places(100), 0],
    ])('raising %s lets a call pass one new interval later', async (_, before, after, intervalMs) => {
      const { by, advance } = open()
      expect(await load(20, by(before))).toBe(10)
      const limiter = by(after)
      const first = await limiter.consume('a')
      expectSound(first)
      if (intervalMs === 0) return expect(first.allowed).toBe(true)
      advance(intervalMs)
      expect((await limiter.consume('a')).allowed).toBe(true)
    })

    it.each<[string, Policy, Policy]>([
      ['the capacity of a token bucket', bucket(100, 10), bucket(10, 10)],
      ['the rate of a token bucket', bucket(10, 10), bucket(10, 0.1)],
      ['the capacity of a leaky bucket', queue(100, 10), queue(10, 10)],
      ['the quota of a calendar window', calendar(100, 60), calendar(10, 60)],
      ['a window from the first call to a longer one', anchored(100, 10), anchored(10, 60)],
      ['the quota of a sliding window counter', counter(100, 60), counter(10, 60)],
      ['the quota of a sliding window log', log(100, 60), log(10, 60)],
    ])('lowering %s states nothing negative, and a wait that is enough', async (_, before, after) => {
      const { by, advance } = open()
      await load(before.quota, by(before))
      const limiter = by(after)
      const refused = await limiter.consume('a')
      expectSound(refused)
      if (refused.outcome !== 'refused') throw new Error('not refused')
      expect(limitsOf(refused)[0]?.available).toBe(0)
      advance(Math.ceil(refused.retryAfterSeconds * 1000))
      expect((await limiter.consume('a')).allowed).toBe(true)
    })

    it.each([
      [2.5, 7],
      [7, 2.5],
      [10, 60],
      [60, 10],
      [60, 90],
    ])(
      'a sliding counter of %d s that is one of %d s from now on states waits that are enough',
      async (before, after) => {
        for (const from of [0, 0.2, 0.9])
          for (const gap of [0, 0.3, 0.95, 1.4]) {
            const { by, advance } = open()
            const limiter = by(counter(10, after))
            advance(from * 1000 * after)
            await load(10, by(counter(10, before)))
            advance(gap * 1000 * before)
            const refused = await limiter.consume('a')
            expectSound(refused)
            if (refused.outcome === 'refused') advance(Math.ceil(refused.retryAfterSeconds * 1000))
            expect((await limiter.consume('a')).allowed, `from ${from}, after ${gap}`).toBe(true)
          }
      },
    )

    it('an algorithm that changes begins afresh, and goes on where it was when it changes back', async () => {
      const { by } = open()
      for (const [, before] of algorithms)
        for (const [, after] of algorithms) {
          const [one, other] = [before(3), after(5)]
          if (one.algorithm === other.algorithm) continue
          const limiter = by(one)
          await limiter.reset('a')
          await by(other).reset('a')
          expect(await load(9, limiter)).toBe(3)
          expect(await load(20, limiter, by(other))).toBe(5)
          expect(await load(9, limiter)).toBe(0)
        }
    })

    it('adding, removing and reordering policies touches no other, while calls run on old and new processes', async () => {
      const { by } = open()
      const [a, b, c] = ['a', 'b', 'c'].map((name) =>
        tokenBucket({ name, capacity: 100, refillPerSecond: 0.001 }),
      ) as [Policy, Policy, Policy]
      const [one, two, three] = [by(a, b), by(c, a), by(b, c, a)]
      expect(await load(90, one, two, three)).toBe(90)
      const left = limitsOf(await three.peek('a')).map(({ policy, available }) => `${policy} ${available}`)
      expect(left).toEqual(['b 40', 'c 40', 'a 10'])
      expect(await load(90, one, two, three)).toBe(10)
    })

    it('a plan that is upgraded and downgraded while calls run keeps what was used', async () => {
      const { settings } = open()
      const daily = fixedWindow({ name: 'daily', quota: 30, windowSeconds: 86_400 })
      const limiter = createLimiter({
        ...settings,
        plans: { free: [bucket(10)], pro: [bucket(100), daily] },
      })
      const call = async (times: number, ...plans: readonly ('free' | 'pro')[]) => {
        const calls = Array.from({ length: times }, (_, i) => {
          const plan = plans[i % plans.length] ?? 'free'
          return limiter.consume('a', { plan })
        })
        const decisions = await Promise.all(calls)
        for (const decision of decisions) expectSound(decision)
        return decisions.filter(({ allowed }) => allowed).length
      }
      expect(await call(20, 'free')).toBe(10)
      // Upgraded while it calls: those that still go by the old plan are refused, the others go on from ten.
      expect(await call(40, 'free', 'pro')).toBe(20)
      expect(await call(40, 'pro')).toBe(10)
      // Downgraded: more is used than the plan grants.
      expect(await call(10, 'free')).toBe(0)
      expect(limitsOf(await limiter.peek('a', { plan: 'pro' }))).toMatchObject([
        { available: 60 },
        { available: 0 },
      ])
    })

    it('each place is held for as long as its own process said, whoever looks or calls besides', async () => {
      const { by, advance } = open()
      const [long, short] = [by(places(3, 600)), by(places(3, 2))]
      const left = async () => limitsOf(await short.peek('a'))[0]?.available
      const first = await long.consume('a')
      expect(await left()).toBe(2)
      expect((await short.consume('a')).allowed).toBe(true)
      advance(2000)
      expect(await left()).toBe(2)
      advance(500_000)
      expect(await left()).toBe(2)
      expect(await long.renew(first)).toBe(true)
      const other = await short.consume('a')
      expect(await short.renew(other)).toBe(true)
      advance(599_000)
      expect(await left()).toBe(2)
      expect(await long.release(first)).toBe(true)
      expect(await left()).toBe(3)
    })

    it('buckets let no more pass than the larger capacity and rate, whichever numbers a process has', async () => {
      const { by, advance } = open()
      const processes = [by(bucket(20, 2)), by(bucket(5, 9)), by(bucket(13, 1 / 3))]
      let [passed, seconds] = [0, 0]
      for (let step = 0; step < 60; step += 1) {
        passed += await load(step % 7, ...processes.slice(step % 3))
        const ms = (step * 37) % 400
        advance(ms)
        seconds += ms / 1000
      }
      expect(passed).toBeLessThanOrEqual(20 + 9 * seconds)
      expect(passed).toBeGreaterThan(20)
    })

    it('windows let no more pass than the larger quota in the shorter window, whichever numbers a process has', async () => {
      const { by, advance } = open()
      for (const policy of [calendar, anchored, counter, log]) {
        const processes = [by(policy(20, 3)), by(policy(8, 2)), by(policy(11, 7))]
        let [passed, seconds] = [0, 0]
        for (let step = 0; step < 60; step += 1) {
          passed += await load(step % 7, ...processes.slice(step % 3))
          const ms = (step * 37) % 400
          advance(ms)
          seconds += ms / 1000
        }
        expect(passed).toBeLessThanOrEqual(20 * (Math.floor(seconds / 2) + 2))
        expect(passed).toBeGreaterThan(20)
      }
    })

    /** As many units as pass, in calls of ever fewer. */
    async function greed(limiter: Limiter, most: number): Promise<number> {
      let passed = 0
      for (let cost = most; cost >= 1; cost = Math.floor(cost / 4)) {
        const decision = await limiter.consume('a', { cost })
        expectSound(decision)
        if (decision.allowed) passed += cost
      }
      return passed
    }

    it.each([
      ['a window of the calendar', calendar],
      ['a window from the first call', anchored],
      ['a sliding window counter', counter],
      ['a sliding window log', log],
    ])('numbers of %s that are far apart let no more pass than the larger quota', async (_, policy) => {
      for (const [most, long] of [
        [10_000, 3600],
        [10_000, 60],
        [1e12, 86_400],
      ] as const)
        for (const [least, short] of [
          [100, 60],
          [100, 3600],
          [1, 86_400],
        ] as const) {
          const { by } = open()
          const [old, fresh] = [by(policy(most, long)), by(policy(least, short))]
          const first = await fresh.consume('a')
          let passed = 1
          for (let round = 0; round < 4; round += 1) {
            passed += await greed(old, most)
            expect((await fresh.consume('a')).outcome).toBe('refused')
            // Giving one unit back makes room for no more than that.
            if (round === 1 && (await fresh.settle(first, 0))) passed -= 1
          }
          expect(passed).toBeLessThanOrEqual(most)
        }
    })

    it.each([
      [600, 'token', bucket],
      [100, 'token', bucket],
      [10, 'token', bucket],
      [100, 'leaky', queue],
    ] as const)(
      'what is given back to a bucket of %i makes room for no more than that in one of 1000: a %s bucket',
      async (least, _, policy) => {
        const { by, advance } = open()
        const [old, fresh] = [by(policy(1000)), by(policy(least))]
        const made: Decision[] = []
        for (let i = 0; i < 8; i += 1) made.push(await fresh.consume('a'))
        let passed = 8 + (await greed(old, 992))
        expect(passed).toBeGreaterThan(990)
        for (const [i, decision] of made.entries()) {
          const before = await fresh.consume('a')
          if (i === 6) expect(await fresh.settle(decision, 0)).toBe(true)
          else if (i !== 4) expect(await fresh.refund(decision)).toBe(true)
          else await fresh.settle(decision, 2)
          passed += i === 4 ? 1 : -1
          const after = await fresh.peek('a')
          if (before.outcome === 'refused' && after.outcome === 'refused' && i !== 4)
            expect(after.retryAfterSeconds).toBeLessThanOrEqual(before.retryAfterSeconds)
          passed += await greed(old, 1000)
          // One and a half units come back in all.
          advance(200_000)
          expect(passed).toBeLessThanOrEqual(1002)
        }
      },
    )

    it('units that a process of a smaller bucket takes ahead and gives back make room for no more in a larger', async () => {
      const { by, settings } = open()
      const [old, policy] = [by(bucket(1000)), bucket(20)]
      const owner = { kind: 'client', value: 'a' }
      let held = { endsUs: 0, units: 0, spent: 0 }
      const ahead = async (want: number, keep: boolean) => {
        const about = { policy: policy as TokenBucketPolicy, owner, held, keep, want }
        const op: Op = { kind: 'advance', advance: { ...about, share: 1, lastsUs: 20e6 } }
        const [reply] = await settings.store.run([op], 20_000)
        const [given = 0, kept = 0, endsUs = 0] = reply?.readings[0] ?? []
        held = { endsUs, units: given + kept, spent: 0 }
      }
      await ahead(10, true)
      expect(held.units).toBe(10)
      const passed = await greed(old, 989)
      expect(passed).toBeGreaterThan(985)
      for (const keep of [true, true, false, false]) await ahead(0, keep)
      expect(held.units).toBe(0)
      expect(passed + (await greed(old, 1000))).toBeLessThanOrEqual(1000)
    })

    it('counters of three lengths let no more pass than the quota in the shortest window, whatever is asked of them', async () => {
      const { by, advance } = open()
      const processes = [by(counter(5, 3)), by(counter(5, 6)), by(counter(5, 1))]
      let passed = 0
      for (let step = 0; step < 80; step += 1) {
        for (const process of step % 2 ? processes : [...processes].reverse())
          while ((await process.consume('a')).allowed) passed += 1
        advance(50)
      }
      expect(passed).toBeLessThanOrEqual(5 * 5)
    })

    it('a debt that may be smaller from now on is no larger than that, and one that may be larger takes nothing back', async () => {
      const { by } = open()
      const debtor = (maxDebt: number) =>
        tokenBucket({ name: 'limit', capacity: 10, refillPerSecond: 0.001, maxDebt })
      const deep = by(debtor(50))
      await deep.settle(await deep.consume('a'), 60)
      const owed = async (limiter: Limiter) => {
        const decision = await limiter.peek('a')
        return decision.outcome === 'refused' ? Math.round(decision.retryAfterSeconds / 1000) : 0
      }
      expect(await owed(deep)).toBe(51)
      expect(await owed(by(debtor(0)))).toBe(1)
      // More debt is not taken on where there is more already; what those see who allow more stays as it is.
      const shallow = by(debtor(30))
      await shallow.settle(await shallow.consume('a', { cost: 0 }), 7)
      expect(await owed(shallow)).toBe(31)
      expect(await owed(deep)).toBe(51)
    })
  })
