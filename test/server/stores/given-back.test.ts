import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterSettings,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { benches } from './stores.js'

const both = [
  tokenBucket({ name: 'team', capacity: 9, refillPerSecond: 0.001, by: 'account' }),
  tokenBucket({ name: 'burst', capacity: 9, refillPerSecond: 0.001 }),
] as const
const settings: LimiterSettings = { onStoreFailure: 'closed', denyCache: false }

for (const bench of benches)
  describe(`on ${bench.name}`, () => {
    beforeAll(() => bench.start())
    afterAll(() => bench.stop())

    it('a refund in parts gives back no more than a refund at once', async () => {
      const { store, advance } = bench.open()
      const policies = [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 1 })]
      const limiter = createLimiter({ ...settings, policies, store })
      onTestFinished(() => limiter.close())
      const decision = await limiter.consume('a', { cost: 5 })
      advance(4200)
      expect((await limiter.consume('a', { cost: 4 })).allowed).toBe(true)
      for (let part = 0; part < 5; part += 1) await limiter.refund(decision, 1)
      // 0.2 was left, and of the first charge 0.8 had not flowed back.
      expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 1 }] })
    })

    it('what a call came to is charged to a log also when the clock was set back since', async () => {
      const { store, advance } = bench.open()
      const policies = [slidingWindowLog({ name: 'log', quota: 9, windowSeconds: 10 })]
      const limiter = createLimiter({ ...settings, policies, store })
      onTestFinished(() => limiter.close())
      const decision = await limiter.consume('a', { cost: 3 })
      advance(-500)
      expect(await limiter.settle(decision, 5)).toBe(true)
      expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 4 }] })
    })

    it('of a call that was given back nothing comes back: a log waits for the next', async () => {
      const { store, advance } = bench.open()
      const policies = [slidingWindowLog({ name: 'log', quota: 9, windowSeconds: 10 })]
      const limiter = createLimiter({ ...settings, policies, store })
      onTestFinished(() => limiter.close())
      const calls: Decision<'log'>[] = []
      for (let nth = 0; nth < 3; nth += 1) {
        calls.push(await limiter.consume('a', { cost: 2 }))
        advance(1000)
      }
      const [first, second] = calls as [Decision<'log'>, Decision<'log'>]
      await limiter.refund(first, 1)
      expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 4, effectiveWindowMs: 7000 }] })
      await limiter.refund(first)
      expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 5, effectiveWindowMs: 8000 }] })
      await limiter.refund(second)
      expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 7, effectiveWindowMs: 9000 }] })
    })

    it('an id stands for no call of another partition', async () => {
      const limiter = createLimiter({ ...settings, policies: both, store: bench.open().store })
      onTestFinished(() => limiter.close())
      await limiter.consume({ account: 'x', client: 'a' }, { id: '1' })
      const other = await limiter.consume({ account: 'x', client: 'b' }, { id: '1' })
      expect(other).toMatchObject({ replayed: false, limits: [{ available: 7 }, { available: 8 }] })
      expect(await limiter.consume({ account: 'x', client: 'a' }, { id: '1' })).toMatchObject({
        replayed: true,
      })
    })

    it('an id stands for no call of another limiter on the same store', async () => {
      const { store } = bench.open()
      const [hourly, daily] = ['hourly', 'daily'].map((name) =>
        createLimiter({
          ...settings,
          store,
          policies: [fixedWindow({ name, quota: 2, windowSeconds: 86_400 })],
        }),
      )
      onTestFinished(() => hourly?.close())
      for (const id of ['1', '2']) {
        expect(await hourly?.consume('a', { id })).toMatchObject({ outcome: 'admitted', replayed: false })
        expect(await daily?.consume('a', { id })).toMatchObject({ outcome: 'admitted', replayed: false })
      }
      expect((await daily?.consume('a', { id: '3' }))?.outcome).toBe('refused')
    })

    it.each([
      ['refunded', (limiter: Limiter, one: Decision) => limiter.refund(one)],
      [
        'refunded in parts',
        async (limiter: Limiter, one: Decision) => {
          await limiter.refund(one, 1)
          return limiter.refund(one, 1)
        },
      ],
      ['settled at nothing', (limiter: Limiter, one: Decision) => limiter.settle(one, 0)],
    ])('an id is forgotten with a charge that is %s: what is sent again is charged', async (_, giveBack) => {
      const limiter = createLimiter({ ...settings, policies: both, store: bench.open().store })
      onTestFinished(() => limiter.close())
      const who = { account: 'x', client: 'a' }
      let passed = 0
      for (let nth = 0; nth < 3; nth += 1) {
        const call = { id: `call ${nth}`, cost: 2 }
        expect(await giveBack(limiter as Limiter, await limiter.consume(who, call))).toBe(true)
        for (let again = 0; again < 4; again += 1) {
          const one = await limiter.consume(who, call)
          expect(one).toMatchObject({ allowed: true, replayed: again > 0 })
          passed += Number(one.outcome === 'admitted' && !one.replayed)
        }
      }
      expect(passed).toBe(3)
      expect(await limiter.peek(who)).toMatchObject({ limits: [{ available: 3 }, { available: 3 }] })
    })

    it('an id stays with a charge of which some is left', async () => {
      const limiter = createLimiter({ ...settings, policies: both, store: bench.open().store })
      onTestFinished(() => limiter.close())
      const who = { account: 'x', client: 'a' }
      const one = await limiter.consume(who, { id: '1', cost: 3 })
      await limiter.refund(one, 1)
      await limiter.settle(one, { team: 0, burst: 1 })
      const again = await limiter.consume(who, { id: '1', cost: 3 })
      expect(again).toMatchObject({ replayed: true, limits: [{ available: 9 }, { available: 8 }] })
    })

    it('an id is forgotten with the places of a call: what is sent again takes its own', async () => {
      const policies = [
        concurrency({ name: 'places', limit: 1, leaseSeconds: 60 }),
        tokenBucket({ name: 'burst', capacity: 9, refillPerSecond: 0.001 }),
      ]
      const limiter = createLimiter({ ...settings, policies, store: bench.open().store }) as Limiter
      onTestFinished(() => limiter.close())
      for (const end of [limiter.release, (one: Decision) => limiter.settle(one, 1)] as const) {
        await end(await limiter.consume('a', { id: '1' }))
        const next = await limiter.consume('a', { id: '1' })
        expect(next).toMatchObject({ outcome: 'admitted', replayed: false })
        expect((await limiter.consume('a')).outcome).toBe('refused')
        expect(await limiter.renew(next)).toBe(true)
        expect(await limiter.release(next)).toBe(true)
      }
      expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 1 }, { available: 5 }] })
    })

    it('an id stands for no call of another cost', async () => {
      const limiter = createLimiter({ ...settings, policies: both, store: bench.open().store })
      onTestFinished(() => limiter.close())
      const who = { account: 'x', client: 'a' }
      await limiter.consume(who, { id: '1' })
      const dear = await limiter.consume(who, { id: '1', cost: 7 })
      expect(dear).toMatchObject({ replayed: false, limits: [{ available: 1 }, { available: 1 }] })
      expect(await limiter.consume(who, { id: '1', cost: { team: 1, burst: 1 } })).toMatchObject({
        replayed: true,
      })
    })

    // Many calls, so not by every client of Redis.
    const once = ['memory', 'Redis through ioredis 5'].includes(bench.name)
    it.runIf(once)(
      'calls that were given back leave nothing in a log: an older one is still found',
      async () => {
        const { store, advance } = bench.open()
        const policies = [slidingWindowLog({ name: 'log', quota: 3, windowSeconds: 3600 })]
        const limiter = createLimiter({ ...settings, policies, store })
        onTestFinished(() => limiter.close())
        const oldest = await limiter.consume('a')
        for (let i = 0; i < 1005; i += 1) {
          advance(1)
          await limiter.refund(await limiter.consume('a'))
        }
        expect(await limiter.refund(oldest)).toBe(true)
        expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 3 }] })
      },
    )

    it('a partition counts three hundred policies, of many limiters', async () => {
      const { store } = bench.open()
      const limiters = Array.from({ length: 10 }, (_, nth) =>
        createLimiter({
          ...settings,
          store,
          policies: Array.from({ length: 30 }, (_, i) =>
            tokenBucket({ name: `p${nth}-${i}`, capacity: 1, refillPerSecond: 0.001 }),
          ),
        }),
      )
      onTestFinished(() => limiters[0]?.close())
      const all = async () =>
        (await Promise.all(limiters.map((each) => each.consume('a')))).map(({ allowed }) => allowed)
      expect(new Set(await all())).toEqual(new Set([true]))
      expect(new Set(await all())).toEqual(new Set([false]))
    })

    it('what is given back is felt at once by a process that was being refused meanwhile', async () => {
      const policies = [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 0.001 })]
      const limiter = createLimiter({ policies, store: bench.open().store, onStoreFailure: 'closed' })
      onTestFinished(() => limiter.close())
      const decision = await limiter.consume('a')
      await Promise.all([limiter.consume('a'), limiter.refund(decision)])
      expect((await limiter.consume('a')).allowed).toBe(true)
    })
  })
