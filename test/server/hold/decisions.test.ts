import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  leakyBucket,
  type Policy,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { benches, type StoreUnderTest } from '../stores/stores.js'

/** One row: at what time, what is asked, and the answer, written short. */
type Row = readonly [atMs: number, ask: string, answer: string]

/** `admitted +100ms 0/100ms/1s`: outcome, for how long it is held, then available and window per policy. */
function short(decision: Decision | boolean): string {
  if (typeof decision === 'boolean') return String(decision)
  const limits = 'limits' in decision ? decision.limits : []
  const parts = limits.map(
    (limit) => `${limit.available}/${limit.effectiveWindowMs}ms/${limit.effectiveWindowSeconds}s`,
  )
  const hold =
    decision.outcome === 'admitted' && decision.delaySeconds > 0
      ? ` +${Math.round(decision.delaySeconds * 1e6) / 1000}ms`
      : ''
  const tail =
    decision.outcome === 'refused'
      ? ` by ${decision.violated.join('+')} after ${decision.retryAfterSeconds}`
      : ''
  return `${decision.outcome}${hold} ${parts.join(' ')}${tail}`.trim()
}

const second = fixedWindow({ name: 'second', quota: 10, windowSeconds: 1 })
/** One that can hold, and does not here. */
const wide = tokenBucket({ name: 'wide', capacity: 1000, refillPerSecond: 1000 })
const minute = fixedWindow({ name: 'minute', quota: 120, windowSeconds: 60, anchor: 'first-request' })

const tables: Record<string, { hold: number; policies: readonly Policy[]; rows: readonly Row[] }> = {
  'a bucket holds each call until its own unit is there, behind those held before it': {
    hold: 0.3,
    policies: [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 10 })],
    rows: [
      [0, 'consume 10', 'admitted 0/1000ms/1s'],
      [0, 'consume 1', 'admitted +100ms 0/100ms/1s'],
      [0, 'consume 1', 'admitted +200ms 0/100ms/1s'],
      [50, 'consume 1', 'admitted +250ms 0/100ms/1s'],
      // Four are on their way, and three are the most that come within the time.
      [50, 'consume 1', 'refused 0/350ms/1s by burst after 0.35'],
      [100, 'consume 1', 'admitted +300ms 0/100ms/1s'],
      [100, 'consume 2', 'refused 0/500ms/1s by burst after 0.5'],
      [600, 'consume 2', 'admitted 0/200ms/1s'],
    ],
  },
  'what a refused bucket tells to wait for is the place behind those held, and it passes at once then': {
    hold: 1,
    policies: [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 2 })],
    rows: [
      [0, 'consume 5', 'admitted 0/2500ms/3s'],
      [0, 'consume 2', 'admitted +1000ms 0/1000ms/1s'],
      [0, 'consume 4', 'refused 0/3000ms/3s by burst after 3'],
      [2999.999, 'peek 4', 'admitted +0.001ms 3/1500ms/2s'],
      [3000, 'consume 4', 'admitted 0/2000ms/2s'],
    ],
  },
  'a call that costs nothing is not held': {
    hold: 1,
    policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 2 })],
    rows: [
      [0, 'consume 1', 'admitted 0/500ms/1s'],
      [0, 'consume 1', 'admitted +500ms 0/500ms/1s'],
      [0, 'consume 0', 'admitted 0/1000ms/1s'],
    ],
  },
  'a look says for how long a call would be held and holds nothing': {
    hold: 1,
    policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 2 })],
    rows: [
      [0, 'consume 1', 'admitted 0/500ms/1s'],
      [0, 'peek 1', 'admitted +500ms 0/500ms/1s'],
      [0, 'consume 1', 'admitted +500ms 0/500ms/1s'],
      [0, 'peek 1', 'admitted +1000ms 0/1000ms/1s'],
    ],
  },
  'a bucket may hold more units than its capacity is': {
    hold: 1,
    policies: [tokenBucket({ name: 'single', capacity: 1, refillPerSecond: 4 })],
    rows: [
      [0, 'consume 1', 'admitted 0/250ms/1s'],
      [0, 'consume 1', 'admitted +250ms 0/250ms/1s'],
      [0, 'consume 1', 'admitted +500ms 0/250ms/1s'],
      [0, 'consume 1', 'admitted +750ms 0/250ms/1s'],
      [0, 'consume 1', 'admitted +1000ms 0/250ms/1s'],
      [0, 'consume 1', 'refused 0/1250ms/2s by single after 1.25'],
    ],
  },
  'a window that ends in time holds for the next one, which is what those held are told of': {
    hold: 0.4,
    policies: [second],
    rows: [
      [500, 'consume 10', 'admitted 0/500ms/1s'],
      [500, 'consume 1', 'refused 0/500ms/1s by second after 0.5'],
      // Four tenths of what a window grants, and no more.
      [600, 'consume 1', 'admitted +400ms 9/1000ms/1s'],
      [700, 'consume 2', 'admitted +300ms 7/1000ms/1s'],
      [800, 'consume 2', 'refused 0/200ms/1s by second after 0.2'],
      [800, 'consume 1', 'admitted +200ms 6/1000ms/1s'],
      [999, 'consume 1', 'refused 0/1ms/1s by second after 0.001'],
      // Those held are the first of their window.
      [1000, 'consume 1', 'admitted 5/1000ms/1s'],
      [1999, 'consume 5', 'admitted 0/1ms/1s'],
      [2000, 'consume 9', 'admitted 1/1000ms/1s'],
    ],
  },
  'a call that does not fit beside those held is told to wait for the window after': {
    hold: 0.4,
    policies: [second],
    rows: [
      [500, 'consume 10', 'admitted 0/500ms/1s'],
      [600, 'consume 4', 'admitted +400ms 6/1000ms/1s'],
      [700, 'consume 6', 'refused 0/300ms/1s by second after 0.3'],
      [700, 'consume 7', 'refused 0/1300ms/2s by second after 1.3'],
      [1000, 'peek 6', 'admitted 6/1000ms/1s'],
      [1000, 'peek 7', 'refused 6/1000ms/1s by second after 1'],
      [2000, 'consume 7', 'admitted 3/1000ms/1s'],
    ],
  },
  'a window that begins with a first call begins with those held for it': {
    hold: 0.5,
    policies: [fixedWindow({ name: 'own', quota: 4, windowSeconds: 1, anchor: 'first-request' })],
    rows: [
      [300, 'consume 4', 'admitted 0/1000ms/1s'],
      [900, 'consume 1', 'admitted +400ms 3/1000ms/1s'],
      [1500, 'consume 1', 'admitted 2/800ms/1s'],
      [2300, 'consume 4', 'admitted 0/1000ms/1s'],
    ],
  },
  'a long window holds what it grants within the time, at its end only': {
    hold: 1,
    policies: [minute],
    rows: [
      [0, 'consume 120', 'admitted 0/60000ms/60s'],
      [58_000, 'consume 1', 'refused 0/2000ms/2s by minute after 2'],
      [59_500, 'consume 2', 'admitted +500ms 118/60000ms/60s'],
      [59_500, 'consume 1', 'refused 0/500ms/1s by minute after 0.5'],
      [60_000, 'consume 118', 'admitted 0/60000ms/60s'],
    ],
  },
  'a window that grants less than a unit within the time holds nothing': {
    hold: 1,
    policies: [fixedWindow({ name: 'rare', quota: 10, windowSeconds: 60, anchor: 'first-request' }), wide],
    rows: [
      [0, 'consume 10', 'admitted 0/60000ms/60s 990/990ms/1s'],
      [59_999, 'consume 1', 'refused 0/1ms/1s 1000/1000ms/1s by rare after 0.001'],
    ],
  },
  'of several policies the last one to have its units says how long, and times count from then': {
    hold: 1,
    policies: [
      tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 4 }),
      second,
      fixedWindow({ name: 'hour', quota: 100, windowSeconds: 3600, anchor: 'first-request' }),
    ],
    rows: [
      [500, 'consume 2', 'admitted 0/500ms/1s 8/500ms/1s 98/3600000ms/3600s'],
      [500, 'consume 2', 'admitted +500ms 0/500ms/1s 6/1ms/1s 96/3599500ms/3600s'],
      [500, 'consume 2', 'admitted +1000ms 0/500ms/1s 4/1ms/1s 94/3599000ms/3599s'],
      [750, 'consume 1', 'admitted +1000ms 0/250ms/1s 3/1ms/1s 93/3598750ms/3599s'],
    ],
  },
  'one that cannot hold refuses for all, and nothing is charged': {
    hold: 1,
    policies: [
      tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 4 }),
      slidingWindowLog({ name: 'log', quota: 3, windowSeconds: 1 }),
    ],
    rows: [
      [0, 'consume 2', 'admitted 0/500ms/1s 1/1000ms/1s'],
      [0, 'consume 1', 'admitted +250ms 0/250ms/1s 0/750ms/1s'],
      [0, 'consume 1', 'refused 0/500ms/1s 0/1000ms/1s by log after 1'],
      [0, 'consume 1', 'refused 0/500ms/1s 0/1000ms/1s by log after 1'],
    ],
  },
  'a leaky bucket stays the queue that it is': {
    hold: 1,
    policies: [leakyBucket({ name: 'queue', capacity: 2, leakPerSecond: 1 }), wide],
    rows: [
      [0, 'consume 1', 'admitted 1/1000ms/1s 999/999ms/1s'],
      [0, 'consume 1', 'admitted +1000ms 0/1000ms/1s 998/998ms/1s'],
      [0, 'consume 1', 'refused 0/1000ms/1s 998/998ms/1s by queue after 1'],
    ],
  },
  'what a held call gives back is there for others': {
    hold: 0.3,
    policies: [tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 10 })],
    rows: [
      [0, 'consume 10', 'admitted 0/1000ms/1s'],
      [0, 'consume 2', 'admitted +200ms 0/200ms/1s'],
      [100, 'refund', 'true'],
      [100, 'consume 1', 'admitted 0/100ms/1s'],
      [100, 'consume 3', 'admitted +300ms 0/300ms/1s'],
    ],
  },
  'what a call held for a window gives back is there for others, before and after it begins': {
    hold: 0.5,
    policies: [second],
    rows: [
      [500, 'consume 10', 'admitted 0/500ms/1s'],
      [500, 'consume 5', 'admitted +500ms 5/1000ms/1s'],
      [600, 'consume 1', 'refused 0/400ms/1s by second after 0.4'],
      [600, 'refund', 'true'],
      [600, 'consume 1', 'admitted +400ms 9/1000ms/1s'],
      [1200, 'consume 2', 'admitted 7/800ms/1s'],
      [1300, 'refund', 'true'],
      [1300, 'consume 9', 'admitted 0/700ms/1s'],
    ],
  },
  'a call held for a window that comes to cost more than the window has is waited for to the end of that window':
    {
      hold: 0.5,
      policies: [second],
      rows: [
        [500, 'consume 10', 'admitted 0/500ms/1s'],
        [500, 'consume 5', 'admitted +500ms 5/1000ms/1s'],
        [600, 'settle 20', 'true'],
        [600, 'consume 1', 'refused 0/1400ms/2s by second after 1.4'],
        [1000, 'peek 1', 'refused 0/1000ms/1s by second after 1'],
        [2000, 'consume 1', 'admitted 9/1000ms/1s'],
      ],
    },
}

async function ask(
  limiter: Limiter,
  verb: string,
  cost: number,
  last: Decision | undefined,
): Promise<Decision | boolean> {
  if (verb === 'refund') return limiter.refund(last as Decision)
  if (verb === 'settle') return limiter.settle(last as Decision, cost)
  return limiter[verb as 'consume' | 'peek']('one', { cost })
}

describe.each(benches)('holding, in $name', (bench) => {
  beforeAll(() => bench.start())
  afterAll(() => bench.stop())

  function limiterFor(hold: number, policies: readonly Policy[]): [Limiter, StoreUnderTest] {
    const under = bench.open()
    return [
      createLimiter({ policies, store: under.store, hold, onStoreFailure: 'closed', denyCache: false }),
      under,
    ]
  }

  it.each(Object.entries(tables))('%s', async (_, { hold, policies, rows }) => {
    const [limiter, under] = limiterFor(hold, policies)
    let nowMs = 0
    let last: Decision | undefined
    const said: Row[] = []
    for (const [atMs, asked] of rows) {
      under.advance(atMs - nowMs)
      nowMs = atMs
      const [verb = '', cost = '1'] = asked.split(' ')
      const answer = await ask(limiter, verb, Number(cost), last)
      if (typeof answer !== 'boolean' && answer.outcome === 'admitted') last = answer
      said.push([atMs, asked, short(answer)])
    }
    expect(said).toEqual(rows)
    await limiter.close()
  })

  it('leaves what is held where it is when a limiter without hold looks at the same bucket', async () => {
    const [limiter, under] = limiterFor(1, [second])
    const without = createLimiter({
      policies: [second],
      store: under.store,
      onStoreFailure: 'closed',
      denyCache: false,
    })
    under.advance(500)
    await limiter.consume('one', { cost: 10 })
    await limiter.consume('one', { cost: 4 })
    expect(short(await without.consume('one'))).toBe('refused 0/500ms/1s by second after 0.5')
    under.advance(500)
    expect(short(await without.consume('one'))).toBe('admitted 5/1000ms/1s')
    // Nor does it promise what the calls that are held will have taken.
    await limiter.consume('one', { cost: 5 })
    await limiter.consume('one', { cost: 10 })
    expect(short(await without.consume('one'))).toBe('refused 0/2000ms/2s by second after 2')
  })

  it('hands what is held on when a window becomes shorter or longer', async () => {
    const [limiter, under] = limiterFor(1, [second])
    const longer = createLimiter({
      policies: [fixedWindow({ name: 'second', quota: 10, windowSeconds: 5 })],
      store: under.store,
      hold: 1,
      onStoreFailure: 'closed',
      denyCache: false,
    })
    under.advance(500)
    await limiter.consume('one', { cost: 10 })
    await limiter.consume('one', { cost: 4 })
    expect(short(await longer.consume('one', { cost: 0 }))).toBe('admitted 0/500ms/1s')
    under.advance(500)
    expect(short(await longer.consume('one', { cost: 0 }))).toBe('admitted 6/5000ms/5s')
  })
})
