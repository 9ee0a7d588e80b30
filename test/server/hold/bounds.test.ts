import { createLimiter, fixedWindow, memoryStore, type Policy, tokenBucket } from '@ratepact/server'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

/** Time passes, then a call comes; some of those that are held go before they are let go. */
interface Call {
  readonly afterMs: number
  readonly cost: number
  /** After how much of its hold (1 to 9 tenths) the client goes; 0: it stays. */
  readonly goes: number
}

/** A call that was let go: when, and how many units it took. */
interface Passed {
  readonly atMs: number
  readonly cost: number
}

const START_MS = 1_796_000_000_000
/** A call is let go at most a microsecond after its units are there: waits are whole microseconds. */
const GRAIN_MS = 0.001

function calls(goes: readonly number[]): fc.Arbitrary<Call[]> {
  return fc.array(
    fc.record<Call>({
      afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 1500 })),
      cost: fc.integer({ min: 1, max: 3 }),
      goes: fc.constantFrom(...goes),
    }),
    { minLength: 20, maxLength: 120 },
  )
}

/** What passes, by the instant at which it is let go. An independent clock, and nothing known of how it is counted. */
async function run(policies: readonly Policy[], hold: number, taken: readonly Call[]): Promise<Passed[]> {
  let nowMs = START_MS
  const limiter = createLimiter({ policies, hold, store: memoryStore({ clock: { now: () => nowMs } }) })
  const passed: Passed[] = []
  const leaving: { atMs: number; refund: () => Promise<boolean> }[] = []
  for (const { afterMs, cost, goes } of taken) {
    const untilMs = nowMs + afterMs
    leaving.sort((one, other) => one.atMs - other.atMs)
    while (leaving[0] !== undefined && leaving[0].atMs <= untilMs) {
      nowMs = Math.max(nowMs, leaving[0].atMs)
      await leaving.shift()?.refund()
    }
    nowMs = untilMs
    const decision = await limiter.consume('one', { cost })
    for (const { available } of 'limits' in decision ? decision.limits : [])
      expect(available).toBeGreaterThanOrEqual(0)
    if (decision.outcome !== 'admitted') continue
    const heldMs = decision.delaySeconds * 1000
    expect(heldMs).toBeLessThanOrEqual(hold * 1000)
    if (heldMs > 0 && goes > 0)
      leaving.push({ atMs: nowMs + (heldMs * goes) / 10, refund: () => limiter.refund(decision) })
    else passed.push({ atMs: nowMs + heldMs, cost })
  }
  return passed.sort((one, other) => one.atMs - other.atMs)
}

/** The most by which what passes in any span is above so many units and a rate times the span. */
function excess(passed: readonly Passed[], units: number, perSecond: number): number {
  let most = 0
  for (const [i, first] of passed.entries()) {
    let sum = 0
    for (const { atMs, cost } of passed.slice(i)) {
      sum += cost
      most = Math.max(most, sum - units - ((atMs - first.atMs + GRAIN_MS) / 1000) * perSecond)
    }
  }
  return most
}

const LITTLE = 1e-6
const numRuns = Number(process.env.HISTORIES ?? 60)

describe('however calls come, those that are held included', { timeout: 60_000 }, () => {
  it.each([
    [10, 10, 1],
    [3, 20, 1],
    [30, 7, 2.5],
    [5, 0.5, 10],
  ])(
    'no more than a bucket of %i and %d a second grants passes in any span',
    async (capacity, rate, hold) => {
      await fc.assert(
        fc.asyncProperty(calls([0]), async (taken) => {
          const bucket = tokenBucket({ name: 'bucket', capacity, refillPerSecond: rate })
          expect(excess(await run([bucket], hold, taken), capacity, rate)).toBeLessThan(LITTLE)
        }),
        { numRuns },
      )
    },
  )

  it.each([
    [10, 10, 1],
    [3, 20, 1],
    [5, 0.5, 10],
  ])(
    'what held calls give back to a bucket of %i and %d a second bunches no more than it may hold',
    async (capacity, rate, hold) => {
      await fc.assert(
        fc.asyncProperty(calls([0, 0, 1, 5, 9]), async (taken) => {
          const bucket = tokenBucket({ name: 'bucket', capacity, refillPerSecond: rate })
          expect(excess(await run([bucket], hold, taken), capacity + rate * hold, rate)).toBeLessThan(LITTLE)
        }),
        { numRuns },
      )
    },
  )

  it.each([
    [10, 1, 1],
    [10, 1, 0.4],
    [7, 0.5, 2],
    [30, 3, 1],
  ])('no more than %i pass in any window of %d s with hold %d', async (quota, windowSeconds, hold) => {
    await fc.assert(
      fc.asyncProperty(calls([0, 0, 0, 2, 8]), async (taken) => {
        const passed = await run([fixedWindow({ name: 'window', quota, windowSeconds })], hold, taken)
        const used = new Map<number, number>()
        for (const { atMs, cost } of passed) {
          // A hold ends at a whole microsecond, which a double of milliseconds may miss by a hair.
          const window = Math.floor(Math.round(atMs * 1000) / (windowSeconds * 1e6))
          used.set(window, (used.get(window) ?? 0) + cost)
        }
        for (const units of used.values()) expect(units).toBeLessThanOrEqual(quota)
      }),
      { numRuns },
    )
  })

  it('with several policies a bucket grants what it does, in a span longer by the hold', async () => {
    await fc.assert(
      fc.asyncProperty(calls([0, 0, 0, 4]), async (taken) => {
        const policies = [
          tokenBucket({ name: 'bucket', capacity: 12, refillPerSecond: 9 }),
          fixedWindow({ name: 'window', quota: 10, windowSeconds: 1 }),
        ]
        expect(excess(await run(policies, 1, taken), 12 + 9, 9)).toBeLessThan(LITTLE)
      }),
      { numRuns },
    )
  })

  it('a refused call passes at once after the wait that it was told, and not before', async () => {
    await fc.assert(
      fc.asyncProperty(calls([0]), fc.constantFrom('bucket', 'window'), async (taken, kind) => {
        let nowMs = START_MS
        const policy =
          kind === 'bucket'
            ? tokenBucket({ name: 'bucket', capacity: 6, refillPerSecond: 3 })
            : fixedWindow({ name: 'window', quota: 6, windowSeconds: 2 })
        const store = memoryStore({ clock: { now: () => nowMs } })
        const limiter = createLimiter({ policies: [policy], hold: 1, store })
        for (const { afterMs, cost } of taken) {
          nowMs += afterMs
          const decision = await limiter.consume('one', { cost })
          if (decision.outcome !== 'refused') continue
          const atMs = nowMs
          nowMs = atMs + decision.retryAfterSeconds * 1000
          expect(await limiter.peek('one', { cost })).toMatchObject({ outcome: 'admitted', delaySeconds: 0 })
          nowMs = atMs + decision.retryAfterSeconds * 1000 - 2 * GRAIN_MS
          const early = await limiter.peek('one', { cost })
          if (early.outcome === 'admitted') expect(early.delaySeconds).toBeGreaterThan(0)
          nowMs = atMs
        }
      }),
      { numRuns },
    )
  })
})
