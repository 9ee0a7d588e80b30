import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { benches } from './stores.js'

const name = 'limit'
type Numbers = { readonly quota: number; readonly maxDebt?: number }
const algorithms: readonly (readonly [string, (numbers: Numbers) => Policy])[] = [
  [
    'token bucket',
    ({ quota, ...rest }) => tokenBucket({ name, capacity: quota, refillPerSecond: 1, ...rest }),
  ],
  ['leaky bucket', ({ quota, ...rest }) => leakyBucket({ name, capacity: quota, leakPerSecond: 1, ...rest })],
  [
    'fixed window',
    (numbers) => fixedWindow({ name, windowSeconds: 60, anchor: 'first-request', ...numbers }),
  ],
  ['sliding window counter', (numbers) => slidingWindowCounter({ name, windowSeconds: 60, ...numbers })],
  ['sliding window log', (numbers) => slidingWindowLog({ name, windowSeconds: 60, ...numbers })],
]

for (const bench of benches)
  describe(`debts on ${bench.name}`, () => {
    beforeAll(() => bench.start())
    afterAll(() => bench.stop())

    function open() {
      const under = bench.open()
      onTestFinished(() => under.store.close())
      const by = (policy: Policy) =>
        createLimiter({
          policies: [policy],
          store: under.store,
          onStoreFailure: 'closed',
          denyCache: false,
        })
      return { by, advance: under.advance }
    }

    describe.each(algorithms)('of a %s', (_, policy) => {
      /** Units in use, as one sees who grants a thousand. */
      async function used(by: ReturnType<typeof open>['by']): Promise<number> {
        const decision = await by(policy({ quota: 1000 })).peek('a')
        return 'limits' in decision ? 1000 - (decision.limits[0]?.available ?? 0) : -1
      }

      it.each([
        [undefined, 30, 20],
        [0, 30, 10],
        [5, 12, 12],
        [5, 100, 15],
        [500, 400, 400],
        [500, 900, 510],
      ])('with maxDebt %s, a call of 1 that came to %s leaves %s in use', async (maxDebt, cost, left) => {
        const { by } = open()
        const limiter = by(policy({ quota: 10, ...(maxDebt !== undefined && { maxDebt }) }))
        const decision = await limiter.consume('a')
        await limiter.settle(decision, cost)
        expect(await used(by)).toBe(left)
      })

      it('is waited for no longer than it takes to be worked off by who asks for nothing', async () => {
        const { by, advance } = open()
        const limiter = by(policy({ quota: 10, maxDebt: 20 }))
        const first = await limiter.consume('a', { cost: 5 })
        advance(1000)
        await limiter.consume('a', { cost: 5 })
        expect(await limiter.settle(first, 9)).toBe(true)
        const refused = await limiter.consume('a', { cost: 0 })
        if (refused.outcome !== 'refused') throw new Error(refused.outcome)
        advance(refused.retryAfterSeconds * 1000 - 2)
        expect((await limiter.peek('a', { cost: 0 })).outcome).toBe('refused')
        advance(2)
        expect((await limiter.consume('a', { cost: 0 })).outcome).toBe('admitted')
      })

      it('is one for all calls together, and nothing passes until it is worked off', async () => {
        const { by, advance } = open()
        const limiter = by(policy({ quota: 10, maxDebt: 20 }))
        const decisions = [await limiter.consume('a'), await limiter.consume('a'), await limiter.consume('a')]
        for (const decision of decisions) await limiter.settle(decision, 15)
        expect(await used(by)).toBe(30)
        const refused = await limiter.consume('a')
        if (refused.outcome !== 'refused') throw new Error('not refused')
        expect(refused.limits[0]?.available).toBe(0)
        advance(Math.ceil(refused.retryAfterSeconds * 1000) - 2)
        expect((await limiter.peek('a')).allowed).toBe(false)
        advance(2)
        expect((await limiter.consume('a')).allowed).toBe(true)
      })
    })
  })

it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2e12, '5'])(
  'a maxDebt of %s is refused',
  (maxDebt) => {
    for (const [, policy] of algorithms)
      expect(() => policy({ quota: 10, maxDebt: maxDebt as number })).toThrow(
        'Expected maxDebt of policy "limit" to be a whole number from 0 to 1000000000000, got',
      )
  },
)

it('places know no debt', () => {
  // @ts-expect-error: no such option
  expect(() => concurrency({ name, limit: 1, leaseSeconds: 1, maxDebt: 1 })).toThrow(
    'Unknown option "maxDebt" of concurrency',
  )
})
