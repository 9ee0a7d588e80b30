import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { describe, expect, it } from 'vitest'

const burst = tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 10 })
const limiter =
  (changes: object, leases: unknown = {}) =>
  () =>
    createLimiter({ policies: [burst], leases, ...changes } as never)

describe('leases are refused when the limiter is built', () => {
  it.each([
    [limiter({}, true), 'Expected leases to be an object, got true'],
    [
      limiter({}, { unit: 1 }),
      'Unknown option "unit" of leases; it takes units, seconds, refillBelow, maxPartitions',
    ],
    [limiter({}, { units: 0 }), 'Expected leases.units to be a whole number from 1 to 1000000000000, got 0'],
    [limiter({}, { units: 1.5 }), 'got 1.5'],
    [limiter({}, { seconds: 0 }), 'Expected leases.seconds to be a number of seconds from 0.05 to 60, got 0'],
    [limiter({}, { seconds: Number.NaN }), 'got NaN'],
    [limiter({}, { refillBelow: 2 }), 'Expected leases.refillBelow to be a number from 0 to 1, got 2'],
    [
      limiter({}, { maxPartitions: 0 }),
      'Expected leases.maxPartitions to be a whole number from 1 to 1000000, got 0',
    ],
    [limiter({ blocks: true }), 'leases and blocks exclude each other'],
    [limiter({ hold: 1 }), 'leases and hold exclude each other'],
    [limiter({ countInstances: true }), 'leases and countInstances exclude each other'],
    [
      limiter({ store: { name: 'mine', run: () => [], close: async () => {} } }),
      'leases need a store that can give units ahead; the store "mine" cannot',
    ],
    [
      limiter({ policies: [burst, concurrency({ name: 'places', limit: 1, leaseSeconds: 1 })] }),
      'leases need every policy to be a token bucket or a fixed window; policy "places" is concurrency',
    ],
    [
      limiter({ policies: [leakyBucket({ name: 'l', capacity: 1, leakPerSecond: 1 })] }),
      '"l" is leaky-bucket',
    ],
    [
      limiter({
        policies: undefined,
        plans: { a: [burst], b: [slidingWindowLog({ name: 's', quota: 1, windowSeconds: 1 })] },
      }),
      '"s" is sliding-window-log',
    ],
    [
      limiter({ policies: [tokenBucket({ name: 'fast', capacity: 1, refillPerSecond: 10 })] }),
      'leases need policy "fast" to fill up, or its window to last, 0.5 s or longer, got 0.1',
    ],
    [limiter({ policies: [fixedWindow({ name: 'w', quota: 100, windowSeconds: 0.1 })] }), 'policy "w"'],
  ])('case %#', (build, message) => {
    expect(build).toThrow(message)
  })
})

describe('a memory store that is full', () => {
  it('forgets no bucket of which a process holds units', async () => {
    let nowMs = 0
    const store = memoryStore({ maxBuckets: 20, clock: { now: () => nowMs } })
    const policies = [tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 0.001 })]
    const leased = createLimiter({ policies, store, leases: {} })
    const other = createLimiter({ policies, store })
    let calls = 0
    for (let source = 'store'; source !== 'lease'; calls += 1) source = (await leased.consume('hot')).source
    for (let i = 0; i < 1000; i += 1) await other.consume(`busier-${i}`, { cost: 90 })
    await leased.close()
    expect(await other.peek('hot')).toMatchObject({ limits: [{ available: 100 - calls }] })
    nowMs += 10_000
    for (let i = 0; i < 1000; i += 1) await other.consume(`later-${i}`, { cost: 90 })
    expect(await other.peek('hot')).toMatchObject({ limits: [{ available: 100 }] })
  })
})
