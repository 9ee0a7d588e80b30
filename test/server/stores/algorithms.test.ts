import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { benches, type StoreUnderTest } from './stores.js'

/** One row: at what time, what is asked, and the whole answer, written short. */
type Row = readonly [atMs: number, ask: string, answer: string]

/** `admitted 9/1000ms/1s`, `refused 0/500ms/1s after 0.5`: outcome, then what is left and for how long. */
function short(decision: Decision | boolean): string {
  if (typeof decision === 'boolean') return String(decision)
  const limits = 'limits' in decision ? decision.limits : []
  const parts = limits.map(({ available, effectiveWindowMs, effectiveWindowSeconds }) =>
    effectiveWindowMs === undefined
      ? `${available}`
      : `${available}/${effectiveWindowMs}ms/${effectiveWindowSeconds}s`,
  )
  const tail =
    decision.outcome === 'refused'
      ? ` after ${decision.retryAfterSeconds}`
      : decision.outcome === 'admitted' && decision.delaySeconds > 0
        ? ` held ${decision.delaySeconds}`
        : ''
  return `${decision.outcome} ${parts.join(' ')}${tail}`
}

const tables: Record<string, { policies: readonly Policy[]; rows: readonly Row[] }> = {
  'a fixed window of the calendar gives its quota back at its end, whenever it was first used': {
    policies: [fixedWindow({ name: 'ten', quota: 3, windowSeconds: 10 })],
    rows: [
      [4000, 'consume 1', 'admitted 2/6000ms/6s'],
      [5500, 'consume 2', 'admitted 0/4500ms/5s'],
      [6000, 'consume 1', 'refused 0/4000ms/4s after 4'],
      [9999, 'consume 1', 'refused 0/1ms/1s after 0.001'],
      [10_000, 'consume 3', 'admitted 0/10000ms/10s'],
      [35_000, 'peek 1', 'admitted 3/5000ms/5s'],
    ],
  },
  'a fixed window from the first request gives its quota back that long after it': {
    policies: [fixedWindow({ name: 'ten', quota: 3, windowSeconds: 10, anchor: 'first-request' })],
    rows: [
      [4000, 'consume 1', 'admitted 2/10000ms/10s'],
      [13_000, 'consume 2', 'admitted 0/1000ms/1s'],
      [13_999, 'consume 1', 'refused 0/1ms/1s after 0.001'],
      [14_000, 'consume 1', 'admitted 2/10000ms/10s'],
      [30_000, 'consume 1', 'admitted 2/10000ms/10s'],
    ],
  },
  'a fixed window is handed on when the clock is set back': {
    policies: [fixedWindow({ name: 'ten', quota: 3, windowSeconds: 10 })],
    rows: [
      [7_200_000, 'consume 3', 'admitted 0/10000ms/10s'],
      [5000, 'consume 1', 'refused 0/5000ms/5s after 5'],
      [10_000, 'consume 1', 'admitted 2/10000ms/10s'],
    ],
  },
  'a sliding window log gives each call back when its own window has passed': {
    policies: [slidingWindowLog({ name: 'ten', quota: 3, windowSeconds: 10 })],
    rows: [
      [0, 'consume 1', 'admitted 2/10000ms/10s'],
      [4000, 'consume 1', 'admitted 1/6000ms/6s'],
      [5000, 'consume 1', 'admitted 0/5000ms/5s'],
      [5000, 'consume 1', 'refused 0/5000ms/5s after 5'],
      [5000, 'consume 2', 'refused 0/9000ms/9s after 9'],
      [9999, 'consume 1', 'refused 0/1ms/1s after 0.001'],
      [10_000, 'consume 1', 'admitted 0/4000ms/4s'],
      [15_000, 'consume 2', 'admitted 0/10000ms/10s'],
      [40_000, 'consume 3', 'admitted 0/10000ms/10s'],
    ],
  },
  'a sliding window log that only looks changes nothing': {
    policies: [slidingWindowLog({ name: 'ten', quota: 2, windowSeconds: 10 })],
    rows: [
      [0, 'peek 1', 'admitted 2/10000ms/10s'],
      [0, 'consume 2', 'admitted 0/10000ms/10s'],
      [1000, 'peek 1', 'refused 0/9000ms/9s after 9'],
      [1000, 'consume 0', 'admitted 0/9000ms/9s'],
      [10_000, 'peek 1', 'admitted 2/10000ms/10s'],
    ],
  },
  'a sliding window log counts a call from the future as made now': {
    policies: [slidingWindowLog({ name: 'ten', quota: 2, windowSeconds: 10 })],
    rows: [
      [7_200_000, 'consume 2', 'admitted 0/10000ms/10s'],
      [1000, 'consume 1', 'refused 0/10000ms/10s after 10'],
      [11_000, 'consume 1', 'admitted 1/10000ms/10s'],
    ],
  },
  'a sliding window counter counts what is left of the window before': {
    policies: [slidingWindowCounter({ name: 'ten', quota: 10, windowSeconds: 10 })],
    rows: [
      [0, 'consume 10', 'admitted 0/20000ms/20s'],
      [9000, 'consume 1', 'refused 0/2000ms/2s after 2'],
      [10_000, 'consume 1', 'refused 0/1000ms/1s after 1'],
      [11_000, 'consume 1', 'admitted 0/1000ms/1s'],
      [15_000, 'consume 1', 'admitted 3/3000ms/3s'],
      [15_000, 'consume 4', 'refused 3/1000ms/1s after 1'],
      [40_000, 'consume 10', 'admitted 0/20000ms/20s'],
    ],
  },
  'a leaky bucket holds each call until its place is reached, and refuses what finds no place': {
    policies: [leakyBucket({ name: 'queue', capacity: 3, leakPerSecond: 2 })],
    rows: [
      [0, 'consume 1', 'admitted 2/1000ms/2s'],
      [0, 'consume 1', 'admitted 1/500ms/1s held 0.5'],
      [0, 'consume 1', 'admitted 0/500ms/1s held 1'],
      [0, 'consume 1', 'refused 0/500ms/1s after 0.5'],
      [500, 'consume 1', 'admitted 0/500ms/1s held 1'],
      [5000, 'consume 1', 'admitted 2/1000ms/2s'],
    ],
  },
  'a leaky bucket refuses a call that would be held for too long': {
    policies: [leakyBucket({ name: 'queue', capacity: 10, leakPerSecond: 2, maxDelaySeconds: 1 })],
    rows: [
      [0, 'consume 3', 'admitted 7/3500ms/4s'],
      [0, 'consume 1', 'refused 7/500ms/1s after 0.5'],
      [500, 'consume 1', 'admitted 7/3500ms/4s held 1'],
    ],
  },
  'places are held until they are released or their lease ends': {
    policies: [concurrency({ name: 'running', limit: 2, leaseSeconds: 10 })],
    rows: [
      [0, 'take a', 'admitted 1'],
      [1000, 'take b', 'admitted 0'],
      [1000, 'take c', 'refused 0 after 1'],
      [2000, 'release a', 'true'],
      [2000, 'release a', 'false'],
      [2000, 'take c', 'admitted 0'],
      [9000, 'renew b', 'true'],
      [12_000, 'take d', 'admitted 0'],
      [12_000, 'release c', 'false'],
      [18_999, 'take e', 'refused 0 after 1'],
      [19_000, 'take e', 'admitted 0'],
      [19_000, 'renew b', 'false'],
    ],
  },
  'places are not held for longer than a lease when the clock is set back': {
    policies: [concurrency({ name: 'running', limit: 1, leaseSeconds: 10 })],
    rows: [
      [7_200_000, 'take a', 'admitted 0'],
      [0, 'take b', 'refused 0 after 1'],
      [10_000, 'take b', 'admitted 0'],
    ],
  },
  'what is refunded can be used again, once': {
    policies: [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 1 })],
    rows: [
      [0, 'take a 5', 'admitted 0/5000ms/5s'],
      [0, 'refund a 2', 'true'],
      [0, 'peek 2', 'admitted 2/2000ms/2s'],
      [0, 'refund a', 'true'],
      [0, 'refund a', 'false'],
      [0, 'peek 5', 'admitted 5/5000ms/5s'],
    ],
  },
  'what has flowed back by itself is not refunded a second time': {
    policies: [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 10 })],
    rows: [
      [0, 'take a 10', 'admitted 0/1000ms/1s'],
      [1000, 'take b 10', 'admitted 0/1000ms/1s'],
      [1000, 'refund a', 'false'],
      [1500, 'refund b', 'true'],
      [1500, 'consume 10', 'admitted 0/1000ms/1s'],
      [1500, 'consume 1', 'refused 0/100ms/1s after 0.1'],
    ],
  },
  'a refund fills no bucket beyond its capacity': {
    policies: [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 1 })],
    rows: [
      [0, 'take a 5', 'admitted 0/5000ms/5s'],
      [4000, 'refund a', 'true'],
      [4000, 'consume 5', 'admitted 0/5000ms/5s'],
    ],
  },
  'a settled call costs what it cost: less, or more up to a debt of one quota': {
    policies: [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 1 })],
    rows: [
      [0, 'take a 4', 'admitted 1/1000ms/1s'],
      [0, 'settle a 1', 'true'],
      [0, 'settle a 5', 'false'],
      [0, 'take b 4', 'admitted 0/4000ms/4s'],
      [0, 'settle b 100', 'true'],
      [0, 'peek 1', 'refused 0/6000ms/6s after 6'],
    ],
  },
  'a charge in a fixed window is not given back in the next': {
    policies: [fixedWindow({ name: 'ten', quota: 3, windowSeconds: 10 })],
    rows: [
      [0, 'take a 2', 'admitted 1/10000ms/10s'],
      [5000, 'refund a 1', 'true'],
      [5000, 'peek 1', 'admitted 2/5000ms/5s'],
      [10_000, 'consume 3', 'admitted 0/10000ms/10s'],
      [10_000, 'refund a', 'false'],
      [10_000, 'peek 1', 'refused 0/10000ms/10s after 10'],
    ],
  },
  'a charge in a sliding log is given back from the call that made it': {
    policies: [slidingWindowLog({ name: 'ten', quota: 5, windowSeconds: 10 })],
    rows: [
      [0, 'take a 2', 'admitted 3/10000ms/10s'],
      [1000, 'take b 2', 'admitted 1/9000ms/9s'],
      [2000, 'take c 1', 'admitted 0/8000ms/8s'],
      [3000, 'refund b', 'true'],
      [3000, 'peek 2', 'admitted 2/7000ms/7s'],
      [10_000, 'peek 4', 'admitted 4/8000ms/8s'],
      [10_000, 'settle a 9', 'false'],
      [10_000, 'settle c 3', 'true'],
      [10_000, 'peek 3', 'refused 2/2000ms/2s after 2'],
    ],
  },
  'a charge in a sliding counter is given back in its own window or the one after': {
    policies: [slidingWindowCounter({ name: 'ten', quota: 10, windowSeconds: 10 })],
    rows: [
      [0, 'take a 4', 'admitted 6/12500ms/13s'],
      [0, 'take b 4', 'admitted 2/11250ms/12s'],
      [5000, 'refund a', 'true'],
      [5000, 'peek 1', 'admitted 6/7500ms/8s'],
      [15_000, 'peek 1', 'admitted 8/8000ms/8s'],
      [15_000, 'refund b', 'true'],
      [15_000, 'peek 1', 'admitted 10/10000ms/10s'],
    ],
  },
}

for (const bench of benches)
  describe(`the algorithms on ${bench.name}`, () => {
    let under: StoreUnderTest
    let limiter: Limiter
    let taken: Map<string, Decision>

    beforeAll(() => bench.start())
    afterEach(() => limiter.close())
    afterAll(() => bench.stop())

    async function answer(ask: string): Promise<string> {
      const [verb, first = '', cost] = ask.split(' ')
      if (verb === 'consume' || verb === 'peek')
        return short(await limiter[verb]('c', { cost: Number(first) }))
      if (verb === 'take') {
        const decision = await limiter.consume('c', cost === undefined ? {} : { cost: Number(cost) })
        taken.set(first, decision)
        return short(decision)
      }
      const decision = taken.get(first)
      if (decision === undefined) throw new Error(`nothing taken as ${first}`)
      if (verb === 'refund')
        return short(await limiter.refund(decision, ...(cost === undefined ? [] : [Number(cost)])))
      if (verb === 'settle') return short(await limiter.settle(decision, Number(cost)))
      return short(await limiter[verb as 'release' | 'renew'](decision))
    }

    for (const [title, { policies, rows }] of Object.entries(tables))
      it(title, async () => {
        under = bench.open()
        taken = new Map()
        limiter = createLimiter({ policies, store: under.store, onStoreFailure: 'closed', denyCache: false })
        // Both stores begin at a whole multiple of every window in the tables.
        const got: Row[] = []
        let nowMs = 0
        for (const [atMs, ask] of rows) {
          under.advance(atMs - nowMs)
          nowMs = atMs
          got.push([atMs, ask, await answer(ask)])
        }
        expect(got).toEqual(rows)
      })

    it.each([
      ['fixed windows', (windowSeconds: number) => fixedWindow({ name: 'w', quota: 5, windowSeconds })],
      [
        'sliding counters',
        (windowSeconds: number) => slidingWindowCounter({ name: 'w', quota: 5, windowSeconds }),
      ],
      ['sliding logs', (windowSeconds: number) => slidingWindowLog({ name: 'w', quota: 5, windowSeconds })],
    ])('two lengths of %s in use at once do not keep a quota used up for ever', async (_, policy) => {
      under = bench.open()
      const settings = { store: under.store, onStoreFailure: 'closed', denyCache: false } as const
      limiter = createLimiter({ policies: [policy(10)], ...settings })
      const other = createLimiter({ policies: [policy(20)], ...settings })
      await limiter.consume('c', { cost: 5 })
      let admitted = 0
      for (let second = 1; second <= 120; second += 1) {
        under.advance(1000)
        if ((await (second % 2 === 0 ? limiter : other).consume('c', { cost: 5 })).allowed) admitted += 1
      }
      expect(admitted).toBeGreaterThanOrEqual(2)
      expect(admitted).toBeLessThanOrEqual(12)
    })

    it('an effect changes the policies that it names, and ends with the places only when all is given back', async () => {
      under = bench.open()
      const policies = [
        tokenBucket({ name: 'a', capacity: 10, refillPerSecond: 0.001 }),
        tokenBucket({ name: 'b', capacity: 10, refillPerSecond: 0.001 }),
        concurrency({ name: 'running', limit: 1, leaseSeconds: 60 }),
      ] as const
      const own = createLimiter({ policies, store: under.store, onStoreFailure: 'closed', denyCache: false })
      limiter = own as unknown as Limiter
      const left = async () => {
        const decision = await own.peek('c')
        return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
      }
      const first = await own.consume('c', { cost: 5 })
      expect(await own.refund(first, { a: 2 })).toBe(true)
      expect(await left()).toEqual([7, 5, 0])
      expect(await own.refund(first, 3)).toBe(true)
      expect(await left()).toEqual([10, 8, 0])
      expect(await own.refund(first, { b: 2 })).toBe(true)
      expect(await left()).toEqual([10, 10, 0])
      expect(await own.release(first)).toBe(true)
      const second = await own.consume('c', { cost: 5 })
      expect(await own.settle(second, { a: 4 })).toBe(true)
      expect(await left()).toEqual([6, 5, 1])
      const third = await own.consume('c', { cost: 0 })
      expect(await own.refund(third, 0)).toBe(false)
      expect(await left()).toEqual([6, 5, 0])
    })
  })
