import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { testClock } from '@ratepact/testing'
import { expect, it } from 'vitest'

/** A store that costs a trip, which it counts. */
function farStore(now: () => number): { store: Store; trips: () => number } {
  const near = memoryStore({ clock: { now } })
  let trips = 0
  return {
    trips: () => trips,
    store: {
      ...near,
      remote: true,
      async run(ops, deadlineMs) {
        trips += 1
        return near.run(ops, deadlineMs)
      },
    },
  }
}

it.each([
  ['a bucket', tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 2 }), 500],
  ['a window', fixedWindow({ name: 'window', quota: 2, windowSeconds: 2, anchor: 'first-request' }), 1000],
])(
  'a refusal by %s is repeated until a call may be held, not until it would pass',
  async (_, policy, openMs) => {
    const clock = testClock()
    const { store, trips } = farStore(() => 1_796_000_000_000 + clock.now())
    const limiter = createLimiter({ policies: [policy], hold: 1, store, clock, denyCacheMaxSeconds: 10 })
    await limiter.consume('one', { cost: 2 })
    // Of the bucket: two more are held. A third has its unit in 1.5 s, and can be held in half a second.
    if (openMs === 500) await limiter.consume('one', { cost: 2 })
    expect((await limiter.consume('one')).outcome).toBe('refused')
    const before = trips()
    await clock.advance(openMs - 1)
    expect(await limiter.consume('one')).toMatchObject({ outcome: 'refused', source: 'deny-cache' })
    expect(trips()).toBe(before)
    await clock.advance(1)
    expect(await limiter.consume('one')).toMatchObject({ outcome: 'admitted', delaySeconds: 1 })
  },
)

it('a refusal that may be a hold at once is not repeated', async () => {
  const clock = testClock()
  const { store } = farStore(() => 1_796_000_000_000 + clock.now())
  const policies = [tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 2 })]
  const limiter = createLimiter({ policies, hold: 1, store, clock })
  const held = [await limiter.consume('one', { cost: 2 }), await limiter.consume('one', { cost: 2 })]
  expect((await limiter.consume('one', { cost: 1 })).source).toBe('store')
  expect(held.map(({ outcome }) => outcome)).toEqual(['admitted', 'admitted'])
})

it.each([
  ['a token bucket', tokenBucket({ name: 'p', capacity: 10, refillPerSecond: 2 }), true],
  ['a leaky bucket', leakyBucket({ name: 'p', capacity: 10, leakPerSecond: 2 }), true],
  [
    'an impatient leaky bucket',
    leakyBucket({ name: 'p', capacity: 10, leakPerSecond: 2, maxDelaySeconds: 1 }),
    false,
  ],
  ['a window', fixedWindow({ name: 'p', quota: 10, windowSeconds: 4, anchor: 'first-request' }), true],
  ['a log', slidingWindowLog({ name: 'p', quota: 10, windowSeconds: 4 }), false],
  ['a counter', slidingWindowCounter({ name: 'p', quota: 10, windowSeconds: 4 }), false],
])('%s tells a dearer call than the one that was refused a wait that is enough', async (_, policy, here) => {
  const clock = testClock()
  const { store, trips } = farStore(() => 1_796_000_000_000 + clock.now())
  const beside = tokenBucket({ name: 'beside', capacity: 100, refillPerSecond: 50 })
  const limiter = createLimiter({ policies: [beside, policy], store, clock, denyCacheMaxSeconds: 10 })
  for (const cost of [3, 3, 4]) {
    await limiter.consume('one', { cost })
    await clock.advance(100)
  }
  expect(await limiter.consume('one', { cost: 3 })).toMatchObject({ outcome: 'refused', violated: ['p'] })
  await clock.advance(37)
  const before = trips()
  const dear = await limiter.consume('one', { cost: 7 })
  expect(trips() - before).toBe(here ? 0 : 1)
  if (dear.outcome !== 'refused') throw new Error(dear.outcome)
  const [, stated] = dear.limits
  expect(stated).toMatchObject({ cost: 7, effectiveWindowMs: Math.ceil(dear.retryAfterSeconds * 1000) })
  await clock.advance(dear.retryAfterSeconds * 1000 - 2)
  expect((await limiter.peek('one', { cost: 7 })).outcome).toBe('refused')
  await clock.advance(2)
  expect((await limiter.consume('one', { cost: 7 })).outcome).toBe('admitted')
})
