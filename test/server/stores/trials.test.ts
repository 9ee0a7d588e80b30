import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  type ShadowResult,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { benches } from './stores.js'

/** A bucket that gives nothing back while a test runs. */
const bucket = (name: string, capacity: number) => tokenBucket({ name, capacity, refillPerSecond: 0.001 })
const shadow = (name: string, capacity: number) =>
  tokenBucket({ name, capacity, refillPerSecond: 0.001, shadow: true })

/** `passes 3` or `refuses 0`: what was tried would have said, and what it would have had left. */
function told({ shadow: results }: Decision): readonly string[] {
  return results.map(short)
}

function short({ allowed, limits }: ShadowResult): string {
  return [allowed ? 'passes' : 'refuses', ...limits.map(({ available }) => available)].join(' ')
}

for (const bench of benches)
  describe(`what is tried on ${bench.name}`, () => {
    beforeAll(() => bench.start())
    afterAll(() => bench.stop())

    function open() {
      const under = bench.open()
      onTestFinished(() => under.store.close())
      return {
        ...under,
        settings: { store: under.store, onStoreFailure: 'closed', denyCache: false } as const,
      }
    }

    describe('a shadow', () => {
      it('refuses nothing, and says what it would have refused', async () => {
        const { settings } = open()
        const limiter = createLimiter({ ...settings, policies: [bucket('live', 10), shadow('new', 2)] })
        const decisions = [await limiter.consume('a'), await limiter.consume('a'), await limiter.consume('a')]
        expect(decisions.map(({ outcome }) => outcome)).toEqual(['admitted', 'admitted', 'admitted'])
        expect(decisions.map(told)).toEqual([['passes 1'], ['passes 0'], ['refuses 0']])
        const [first, , last] = decisions
        expect(first).toMatchObject({ limits: [{ policy: 'live', available: 9 }], delaySeconds: 0 })
        expect(last).toMatchObject({ limits: [{ policy: 'live', available: 7 }] })
        expect(last?.shadow).toEqual([
          {
            group: 'shadow',
            policy: 'new',
            allowed: false,
            limits: [expect.objectContaining({ policy: 'new', quota: 2, available: 0, allowed: false })],
            violated: ['new'],
            retryAfterSeconds: 1000,
          },
        ])
      })

      it('is charged for what passes only, and each for itself', async () => {
        const { settings } = open()
        const limiter = createLimiter({
          ...settings,
          policies: [shadow('one', 5), bucket('live', 3), shadow('two', 1)],
        })
        const decisions: Decision[] = []
        for (let i = 0; i < 5; i += 1) decisions.push(await limiter.consume('a'))
        expect(decisions.map(told)).toEqual([
          ['passes 4', 'passes 0'],
          ['passes 3', 'refuses 0'],
          ['passes 2', 'refuses 0'],
          // The live one refuses: as it would with either beside it.
          ['passes 2', 'refuses 0'],
          ['passes 2', 'refuses 0'],
        ])
      })

      it('may be all that there is', async () => {
        const { settings } = open()
        const limiter = createLimiter({ ...settings, policies: [shadow('new', 1)] })
        expect(await limiter.consume('a', { id: '1' })).toMatchObject({ outcome: 'admitted', limits: [] })
        const again = await limiter.consume('a', { id: '1' })
        expect(again).toMatchObject({ replayed: true })
        const other = await limiter.consume('a')
        expect([other.allowed, told(other)]).toEqual([true, ['refuses 0']])
      })

      it('goes on from what it counted when it is made to decide', async () => {
        const { settings } = open()
        const tried = createLimiter({ ...settings, policies: [shadow('new', 5)] })
        await tried.consume('a', { cost: 3 })
        const live = createLimiter({ ...settings, policies: [bucket('new', 5)] })
        expect(await live.consume('a')).toMatchObject({ limits: [{ available: 1 }] })
      })

      it('delays nothing', async () => {
        const { settings } = open()
        const queue = leakyBucket({ name: 'queue', capacity: 9, leakPerSecond: 0.5, shadow: true })
        const limiter = createLimiter({ ...settings, policies: [bucket('live', 9), queue] })
        await limiter.consume('a')
        const decision = await limiter.consume('a')
        expect(decision).toMatchObject({ delaySeconds: 0, shadow: [{ allowed: true, delaySeconds: 2 }] })
      })

      it('takes its part of the cost by its own name', async () => {
        const { settings } = open()
        const bytes = tokenBucket({
          name: 'bytes',
          capacity: 100,
          refillPerSecond: 0.001,
          unit: 'content-bytes',
          shadow: true,
        })
        const limiter = createLimiter({ ...settings, policies: [bucket('live', 9), bytes] })
        expect(told(await limiter.consume('a', { cost: { live: 2, bytes: 60 } }))).toEqual(['passes 40'])
        expect(told(await limiter.consume('a', { cost: { bytes: 60 } }))).toEqual(['refuses 40'])
        const never = await limiter.consume('a', { cost: { bytes: 101 } })
        expect(never).toMatchObject({ outcome: 'admitted', limits: [{ available: 5 }] })
        expect(never.shadow).toEqual([
          { group: 'shadow', policy: 'bytes', allowed: false, limits: [], violated: ['bytes'] },
        ])
      })
    })

    describe('a candidate', () => {
      it('has a verdict and buckets of its own, whatever becomes of the call', async () => {
        const { settings } = open()
        const limiter = createLimiter({
          ...settings,
          policies: [bucket('burst', 1)],
          candidate: [bucket('burst', 3), bucket('more', 9)],
        })
        const decisions: Decision[] = []
        for (let i = 0; i < 5; i += 1) decisions.push(await limiter.consume('a'))
        expect(decisions.map(({ outcome }) => outcome)).toEqual([
          'admitted',
          ...Array.from({ length: 4 }, () => 'refused'),
        ])
        expect(decisions.map(told)).toEqual([
          ['passes 2 8'],
          ['passes 1 7'],
          ['passes 0 6'],
          // All or nothing, like the list that it would replace.
          ['refuses 0 6'],
          ['refuses 0 6'],
        ])
        expect(decisions[4]).toMatchObject({
          violated: ['burst'],
          limits: [{ policy: 'burst', quota: 1, available: 0 }],
          shadow: [{ group: 'candidate', violated: ['burst'], retryAfterSeconds: 1000 }],
        })
        expect(decisions[4]?.shadow).toHaveLength(1)
      })

      it('counts logs and places apart from those of the same name too', async () => {
        const { settings } = open()
        const policies = (quota: number) => [
          slidingWindowLog({ name: 'log', quota, windowSeconds: 60 }),
          concurrency({ name: 'running', limit: quota, leaseSeconds: 60 }),
        ]
        const limiter = createLimiter({ ...settings, policies: policies(3), candidate: policies(2) })
        for (const [left, said] of [
          [2, 'passes 1 1'],
          [1, 'passes 0 0'],
          [0, 'refuses 0 0'],
        ]) {
          const decision = await limiter.consume('a')
          expect(decision).toMatchObject({ limits: [{ available: left }, { available: left }] })
          expect(told(decision)).toEqual([said])
        }
      })

      it('takes no place for a call that is refused, which does not run', async () => {
        const { settings } = open()
        const limiter = createLimiter({
          ...settings,
          policies: [bucket('live', 1)],
          candidate: [concurrency({ name: 'running', limit: 2, leaseSeconds: 60 }), bucket('live', 9)],
        })
        expect(told(await limiter.consume('a'))).toEqual(['passes 1 8'])
        expect(told(await limiter.consume('a'))).toEqual(['passes 1 7'])
        expect(told(await limiter.consume('a'))).toEqual(['passes 1 6'])
      })

      it('has its say on a cost that the live policies can never admit, and the other way round', async () => {
        const { settings } = open()
        const limiter = createLimiter({
          ...settings,
          policies: [bucket('live', 4)],
          candidate: [bucket('live', 8)],
        })
        const dear = await limiter.consume('a', { cost: 6 })
        expect(dear).toMatchObject({ outcome: 'impossible', violated: ['live'], source: 'none' })
        expect(told(dear)).toEqual(['passes 2'])
        const dearer = await limiter.consume('a', { cost: 9 })
        expect(dearer).toMatchObject({
          outcome: 'impossible',
          shadow: [{ allowed: false, violated: ['live'], limits: [] }],
        })
        expect(told(await limiter.consume('a', { cost: 2 }))).toEqual(['passes 0'])
        const small = createLimiter({
          ...settings,
          policies: [bucket('live', 9)],
          candidate: [bucket('x', 2)],
        })
        expect(await small.consume('a', { cost: 3 })).toMatchObject({
          outcome: 'admitted',
          shadow: [{ allowed: false, violated: ['x'], limits: [] }],
        })
      })

      it('may count other partitions and scopes than the live policies', async () => {
        const { settings } = open()
        const limiter = createLimiter({
          ...settings,
          policies: [bucket('live', 9)],
          candidate: [
            fixedWindow({ name: 'daily', quota: 3, windowSeconds: 86_400, by: 'account' }),
            fixedWindow({ name: 'route', quota: 2, windowSeconds: 86_400, perScope: true }),
          ],
        })
        const call = async (client: string, account: string, scope: string) =>
          told(await limiter.consume({ client, account }, { scope }))
        expect(await call('a', 'x', 'GET /')).toEqual(['passes 2 1'])
        expect(await call('b', 'x', 'GET /')).toEqual(['passes 1 1'])
        expect(await call('a', 'x', 'PUT /')).toEqual(['passes 0 1'])
        expect(await call('a', 'y', 'GET /')).toEqual(['passes 2 0'])
      })

      it('is that of the plan by which a call is judged', async () => {
        const { settings } = open()
        const limiter = createLimiter({
          ...settings,
          plans: { free: [bucket('burst', 1)], pro: [bucket('burst', 5), shadow('new', 1)] },
          candidate: { free: [bucket('burst', 3)] },
        })
        expect(told(await limiter.consume('a', { plan: 'free' }))).toEqual(['passes 2'])
        expect(told(await limiter.consume('a', { plan: 'pro' }))).toEqual(['passes 0'])
        expect(told(await limiter.consume('a', { plan: 'free' }))).toEqual(['passes 1'])
      })
    })

    it('peeking judges and charges nothing', async () => {
      const { settings } = open()
      const limiter = createLimiter({
        ...settings,
        policies: [bucket('live', 9), shadow('new', 2)],
        candidate: [bucket('live', 3)],
      })
      for (let i = 0; i < 5; i += 1) expect(told(await limiter.peek('a'))).toEqual(['passes 2', 'passes 3'])
      expect(told(await limiter.peek('a', { cost: 3 }))).toEqual(['refuses', 'passes 3'])
      expect(told(await limiter.consume('a'))).toEqual(['passes 1', 'passes 2'])
    })

    it('nothing is charged for who is blocked, nor said', async () => {
      const { settings } = open()
      const limiter = createLimiter({
        ...settings,
        blocks: true,
        policies: [bucket('live', 9), shadow('new', 2)],
        candidate: [fixedWindow({ name: 'daily', quota: 3, windowSeconds: 86_400, by: 'account' })],
      })
      const who = { client: 'a', account: 'x' }
      await limiter.block({ account: 'x' }, 'forever')
      expect(await limiter.consume(who)).toMatchObject({ outcome: 'blocked', shadow: [] })
      expect(await limiter.consume(who, { cost: { live: 10 } })).toMatchObject({ shadow: [] })
      await limiter.unblock({ account: 'x' })
      expect(told(await limiter.consume(who))).toEqual(['passes 1', 'passes 2'])
    })

    it('a call that is sent again by its id is charged once to everything', async () => {
      const { settings } = open()
      const limiter = createLimiter({
        ...settings,
        policies: [bucket('live', 2), shadow('new', 9)],
        candidate: [bucket('live', 9)],
      })
      const call = async (id: string) => limiter.consume('a', { id })
      expect(told(await call('1'))).toEqual(['passes 8', 'passes 8'])
      expect(await call('1')).toMatchObject({ replayed: true })
      expect(told(await call('1'))).toEqual(['passes 8', 'passes 8'])
      await limiter.consume('a')
      // Refused, and so not remembered as admitted; but the candidate would have admitted it, and not twice.
      for (let i = 0; i < 6; i += 1) {
        const decision = await call('2')
        expect(decision.outcome).toBe('refused')
        expect(told(decision)).toEqual(['passes 7', 'passes 6'])
      }
      await limiter.reset('a')
      expect(told(await call('2'))).toEqual(['passes 8', 'passes 9'])
      expect(await call('2')).toMatchObject({ replayed: true, shadow: [{}, { limits: [{ available: 9 }] }] })
    })

    it('what is done with an admission is done with what was tried on it, which has no say in the result', async () => {
      const { settings, advance } = open()
      const minute = (name: string, quota: number, windowSeconds: number, shadow = false) =>
        fixedWindow({ name, quota, windowSeconds, anchor: 'first-request', shadow })
      const limiter = createLimiter({
        ...settings,
        policies: [minute('live', 100, 10), minute('new', 100, 1000, true)],
        candidate: [minute('live', 100, 1000)],
      })
      const left = async () => told(await limiter.peek('a', { cost: 0 }))
      const one = await limiter.consume('a', { cost: 10 })
      expect(await limiter.settle(one, 30)).toBe(true)
      expect(await left()).toEqual(['passes 70', 'passes 70'])
      const two = await limiter.consume('a', { cost: 20 })
      expect(await limiter.refund(two, 5)).toBe(true)
      expect(await left()).toEqual(['passes 55', 'passes 55'])
      advance(10_000)
      // Of the live window nothing is left to give back, of the others there is; what is asked is the live one.
      expect(await limiter.refund(two)).toBe(false)
      expect(await left()).toEqual(['passes 70', 'passes 70'])
      expect(await limiter.refund(two)).toBe(false)
      expect(await left()).toEqual(['passes 70', 'passes 70'])
    })

    it('places that were tried are kept and given back with the call', async () => {
      const { settings, advance } = open()
      const running = (limit: number, shadow = false) =>
        concurrency({ name: shadow ? 'new' : 'running', limit, leaseSeconds: 10, shadow })
      const limiter = createLimiter({
        ...settings,
        policies: [running(5), running(2, true)],
        candidate: [running(3)],
      })
      const left = async () => told(await limiter.peek('a', { cost: { running: 0, new: 0 } }))
      const [one, two] = [await limiter.consume('a'), await limiter.consume('a')]
      expect(await left()).toEqual(['passes 0', 'passes 1'])
      advance(9000)
      expect(await limiter.renew(one)).toBe(true)
      advance(2000)
      expect(await left()).toEqual(['passes 1', 'passes 2'])
      expect(await limiter.release(one)).toBe(true)
      expect(await limiter.release(two)).toBe(false)
      expect(await left()).toEqual(['passes 2', 'passes 3'])
    })

    it('what is only tried can be given back where nothing decides', async () => {
      const { settings } = open()
      const limiter = createLimiter({ ...settings, policies: [shadow('new', 9)] })
      const decision = await limiter.consume('a', { cost: 5 })
      await limiter.refund(decision, 2)
      expect(told(await limiter.peek('a'))).toEqual(['passes 6'])
      await limiter.settle(decision, 1)
      expect(told(await limiter.peek('a'))).toEqual(['passes 8'])
    })

    it('a reset forgets it too', async () => {
      const { settings } = open()
      const limiter = createLimiter({
        ...settings,
        policies: [bucket('live', 9), shadow('new', 2)],
        candidate: [bucket('live', 3)],
      })
      await limiter.consume('a', { cost: 2 })
      await limiter.reset('a')
      expect(told(await limiter.peek('a'))).toEqual(['passes 2', 'passes 3'])
    })

    it('counts exactly under calls made at once', async () => {
      const { settings } = open()
      const limiter = createLimiter({
        ...settings,
        policies: [bucket('live', 40), shadow('new', 15)],
        candidate: [bucket('live', 70)],
      })
      const calls = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('a')))
      const count = (which: (decision: Decision) => boolean | undefined) => calls.filter(which).length
      expect(count(({ allowed }) => allowed)).toBe(40)
      expect(count(({ allowed, shadow: [own] }) => allowed && own?.allowed)).toBe(15)
      expect(count(({ shadow: [, own] }) => own?.allowed)).toBe(70)
    })
  })
