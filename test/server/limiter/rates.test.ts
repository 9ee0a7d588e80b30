import { createLimiter, memoryStore, tokenBucket } from '@ratepact/server'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

/** Calls admitted in a time by somebody who asks at every instant at which a unit can be there. */
async function admittedWithin(capacity: number, refillPerSecond: number, refills: number): Promise<number> {
  let nowMs = 0
  const policy = tokenBucket({ name: 'rate', capacity, refillPerSecond })
  const limiter = createLimiter({ policies: [policy], store: memoryStore({ clock: { now: () => nowMs } }) })
  await limiter.consume('a', { cost: capacity })
  let admitted = 0
  const endMs = (refills / refillPerSecond) * 1000
  while (nowMs <= endMs) {
    const decision = await limiter.consume('a')
    if (decision.outcome === 'admitted') admitted += 1
    if (decision.outcome === 'refused') nowMs += decision.retryAfterSeconds * 1000
  }
  return admitted
}

describe('a rate is kept to 0.1 %', () => {
  it.each([
    1_000_000,
    999_999,
    700_000,
    333_333.33,
    12_345.678,
    1000,
    7,
    1,
    0.3,
    1 / 3,
    1 / 86_400,
    1 / (30 * 86_400),
  ])('at %d per second', async (rate) => {
    const refills = 5000
    const admitted = await admittedWithin(1, rate, refills)
    // A rate beyond one call a microsecond step is bounded by the clock's own microseconds.
    expect(admitted).toBeLessThanOrEqual(refills * 1.001 + 1)
    if (rate <= 1000) expect(admitted).toBeGreaterThanOrEqual(refills * 0.999 - 1)
  })

  it('at any rate and capacity: what is back after a time is the rate times the time', async () => {
    const rates = fc
      .double({ min: Math.log(1 / (31 * 86_400)), max: Math.log(1e6), noNaN: true })
      .map(Math.exp)
    await fc.assert(
      fc.asyncProperty(
        rates,
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        async (rate, capacity, share) => {
          // What takes longer to refill is refused when it is built.
          fc.pre(capacity / rate < 70 * 365 * 86_400)
          let nowMs = 0
          const policy = tokenBucket({
            name: 'rate',
            capacity,
            refillPerSecond: Math.max(1 / (31 * 86_400), Math.min(1e6, rate)),
          })
          const limiter = createLimiter({
            policies: [policy],
            store: memoryStore({ clock: { now: () => nowMs } }),
          })
          await limiter.consume('a', { cost: capacity })
          nowMs = ((capacity * share) / policy.ratePerSecond) * 1000
          const decision = await limiter.peek('a')
          const available = 'limits' in decision ? (decision.limits[0]?.available ?? -1) : -1
          const back = (Math.floor(nowMs * 1000) / 1e6) * policy.ratePerSecond
          expect(available).toBeGreaterThanOrEqual(Math.floor(back * 0.999) - 1)
          expect(available).toBeLessThanOrEqual(back * 1.001 + 1)
        },
      ),
      { numRuns: 500 },
    )
  })
})

it('waiting as long as a refusal says is enough, and a microsecond less is not', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0.001, max: 10_000, noNaN: true }),
      fc.array(fc.tuple(fc.nat(1000), fc.nat(100_000)), { maxLength: 20 }),
      async (capacity, refillPerSecond, history) => {
        let nowUs = 0
        const policy = tokenBucket({ name: 'rate', capacity, refillPerSecond })
        const limiter = createLimiter({
          policies: [policy],
          store: memoryStore({ clock: { now: () => nowUs / 1000 } }),
        })
        for (const [cost, us] of history) {
          nowUs += us
          const decision = await limiter.consume('a', { cost: Math.min(capacity, cost) })
          if (decision.outcome !== 'refused') continue
          const waitUs = Math.round(decision.retryAfterSeconds * 1e6)
          nowUs += waitUs - 1
          expect((await limiter.peek('a', { cost: Math.min(capacity, cost) })).outcome).toBe('refused')
          nowUs += 1
          expect((await limiter.peek('a', { cost: Math.min(capacity, cost) })).outcome).toBe('admitted')
        }
      },
    ),
    { numRuns: 300 },
  )
})
