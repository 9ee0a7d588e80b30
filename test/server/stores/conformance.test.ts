import { createLimiter, type Decision, type Limiter, type Policy, tokenBucket } from '@ratepact/server'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { benches, type StoreUnderTest } from './stores.js'

/** One row: at what time, what is asked, and the whole answer, written short. */
type Row = readonly [atMs: number, ask: string, answer: string]

/** `admitted 9/1000ms` or `refused 0/500ms 4/… by burst after 0.5 s`: outcome, then available and window per policy. */
function short(decision: Decision): string {
  const limits = 'limits' in decision ? decision.limits : []
  const parts = limits.map(
    (limit) => `${limit.available}/${limit.effectiveWindowMs}ms/${limit.effectiveWindowSeconds}s`,
  )
  const tail =
    decision.outcome === 'refused'
      ? ` by ${decision.violated.join('+')} after ${decision.retryAfterSeconds}`
      : ''
  return `${decision.outcome} ${parts.join(' ')}${tail}`
}

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 10 })

const tables: Record<string, { policies: readonly Policy[]; rows: readonly Row[] }> = {
  'a bucket lets its capacity pass at once, then its rate': {
    policies: [burst],
    rows: [
      [0, 'consume 1', 'admitted 9/900ms/1s'],
      [0, 'consume 8', 'admitted 1/100ms/1s'],
      [0, 'consume 1', 'admitted 0/100ms/1s'],
      [0, 'consume 1', 'refused 0/100ms/1s by burst after 0.1'],
      [99.999, 'consume 1', 'refused 0/1ms/1s by burst after 0.000001'],
      [100, 'consume 1', 'admitted 0/100ms/1s'],
      [150, 'consume 1', 'refused 0/50ms/1s by burst after 0.05'],
      [450, 'consume 3', 'admitted 0/250ms/1s'],
      [5000, 'consume 10', 'admitted 0/1000ms/1s'],
    ],
  },
  'a cost that does not fit is not taken in part': {
    policies: [burst],
    rows: [
      [0, 'consume 7', 'admitted 3/300ms/1s'],
      [0, 'consume 4', 'refused 3/100ms/1s by burst after 0.1'],
      [0, 'consume 3', 'admitted 0/300ms/1s'],
    ],
  },
  'a cost of nothing passes even an empty bucket and takes nothing': {
    policies: [burst],
    rows: [
      [0, 'consume 0', 'admitted 10/1000ms/1s'],
      [0, 'consume 10', 'admitted 0/1000ms/1s'],
      [0, 'consume 0', 'admitted 0/100ms/1s'],
    ],
  },
  'a cost above the capacity is impossible and takes nothing': {
    policies: [burst],
    rows: [
      [0, 'consume 11', 'impossible '],
      [0, 'consume 10', 'admitted 0/1000ms/1s'],
    ],
  },
  'looking changes nothing': {
    policies: [burst],
    rows: [
      [0, 'peek 1', 'admitted 10/1000ms/1s'],
      [0, 'peek 10', 'admitted 10/1000ms/1s'],
      [0, 'consume 10', 'admitted 0/1000ms/1s'],
      [0, 'peek 1', 'refused 0/100ms/1s by burst after 0.1'],
      [0, 'peek 1', 'refused 0/100ms/1s by burst after 0.1'],
      [100, 'peek 1', 'admitted 1/100ms/1s'],
    ],
  },
  'a reset bucket is full': {
    policies: [burst],
    rows: [
      [0, 'consume 10', 'admitted 0/1000ms/1s'],
      [0, 'reset', ''],
      [0, 'consume 1', 'admitted 9/900ms/1s'],
    ],
  },
  'the second of two policies refuses and leaves the first as it was': {
    policies: [burst, tokenBucket({ name: 'minute', capacity: 3, refillPerSecond: 3 / 60 })],
    rows: [
      [0, 'consume 1', 'admitted 9/900ms/1s 2/40000ms/40s'],
      [0, 'consume 1', 'admitted 8/800ms/1s 1/20000ms/20s'],
      [0, 'consume 1', 'admitted 7/700ms/1s 0/20000ms/20s'],
      [0, 'consume 1', 'refused 7/700ms/1s 0/20000ms/20s by minute after 20'],
      [20_000, 'consume 1', 'admitted 9/900ms/1s 0/20000ms/20s'],
    ],
  },
  'a clock set back neither blocks for as long as it was set back nor gives units away': {
    policies: [burst],
    rows: [
      [3_600_000, 'consume 10', 'admitted 0/1000ms/1s'],
      [0, 'peek 1', 'refused 0/100ms/1s by burst after 0.1'],
      [0, 'consume 1', 'refused 0/100ms/1s by burst after 0.1'],
      [100, 'consume 1', 'admitted 0/100ms/1s'],
    ],
  },
  'a rate that is no whole number is kept to the microsecond': {
    policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 700_000 })],
    rows: [
      [0, 'consume 1', 'admitted 0/1ms/1s'],
      [0.001, 'consume 1', 'refused 0/1ms/1s by burst after 0.000001'],
      [0.002, 'consume 1', 'admitted 0/1ms/1s'],
    ],
  },
  'one unit in 31 days': {
    policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 1 / (31 * 86_400) })],
    rows: [
      [0, 'consume 1', 'admitted 0/2678400000ms/2678400s'],
      [31 * 86_400_000 - 1000, 'consume 1', 'refused 0/1000ms/1s by burst after 1'],
      [31 * 86_400_000, 'consume 1', 'admitted 0/2678400000ms/2678400s'],
    ],
  },
}

for (const bench of benches)
  describe(`a limiter on ${bench.name}`, () => {
    let under: StoreUnderTest
    const limiters: Limiter[] = []

    function open(policies: readonly Policy[], store = bench.open()): Limiter {
      under = store
      const limiter = createLimiter({
        policies,
        store: under.store,
        onStoreFailure: 'closed',
        denyCache: false,
      })
      limiters.push(limiter)
      return limiter
    }

    beforeAll(() => bench.start())
    afterEach(async () => {
      for (const limiter of limiters.splice(0)) await limiter.close()
    })
    afterAll(() => bench.stop())

    for (const [title, { policies, rows }] of Object.entries(tables))
      it(title, async () => {
        const limiter = open(policies)
        const got: Row[] = []
        let nowMs = 0
        for (const [atMs, ask] of rows) {
          under.advance(atMs - nowMs)
          nowMs = atMs
          got.push([atMs, ask, await answer(limiter, ask)])
        }
        expect(got).toEqual(rows)
      })

    it('decides about several partitions together, all or nothing', async () => {
      const limiter = open([
        tokenBucket({ name: 'user', capacity: 2, refillPerSecond: 1 }),
        tokenBucket({ name: 'team', capacity: 3, refillPerSecond: 1, by: 'account' }),
      ])
      const call = async (client: string) => short(await limiter.consume({ client, account: 'a' }))
      expect([await call('x'), await call('x'), await call('x'), await call('y'), await call('y')]).toEqual([
        'admitted 1/1000ms/1s 2/2000ms/2s',
        'admitted 0/1000ms/1s 1/1000ms/1s',
        'refused 0/1000ms/1s 1/1000ms/1s by user after 1',
        'admitted 1/1000ms/1s 0/1000ms/1s',
        'refused 1/1000ms/1s 0/1000ms/1s by team after 1',
      ])
    })

    it("leaves a shared account's quota untouched by a user's refused calls", async () => {
      const limiter = open([
        tokenBucket({ name: 'user', capacity: 1, refillPerSecond: 0.001 }),
        tokenBucket({ name: 'shared', capacity: 10, refillPerSecond: 0.001, by: 'account' }),
      ])
      const calls = await Promise.all(
        Array.from({ length: 20 }, () => limiter.consume({ client: 'greedy', account: 'a' })),
      )
      expect(calls.filter(({ allowed }) => allowed)).toHaveLength(1)
      const other = await limiter.consume({ client: 'other', account: 'a' })
      expect(short(other)).toMatch(/^admitted 0\/\d+ms\/\d+s 8\//)
    })

    it('counts exactly under calls made at once, the same key many times in a turn', async () => {
      const limiter = open([tokenBucket({ name: 'burst', capacity: 150, refillPerSecond: 1e-6 })])
      const calls = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('hot')))
      expect(calls.filter(({ allowed }) => allowed)).toHaveLength(150)
    })

    it('keeps one bucket per scope where the policy says so, and one over all where not', async () => {
      const limiter = open([
        tokenBucket({ name: 'each', capacity: 2, refillPerSecond: 0.001, perScope: true }),
        tokenBucket({ name: 'all', capacity: 3, refillPerSecond: 0.001 }),
      ])
      const call = async (scope: string) => {
        const decision = await limiter.consume('c', { scope })
        return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
      }
      expect([
        await call('GET /a'),
        await call('GET /a'),
        await call('GET /b'),
        await call('GET /b'),
      ]).toEqual([
        [1, 2],
        [0, 1],
        [1, 0],
        [1, 0],
      ])
    })

    it('tells the scopes of a policy apart by a partition key that stays the same', async () => {
      const limiter = open([tokenBucket({ name: 'each', capacity: 2, refillPerSecond: 1, perScope: true })])
      const keys = await Promise.all(
        ['GET /a', 'GET /b', 'GET /a'].map(async (scope) => {
          const decision = await limiter.consume('c', { scope })
          return 'limits' in decision
            ? Buffer.from(decision.limits[0]?.partitionKey ?? []).toString('hex')
            : ''
        }),
      )
      expect(keys[0]).toMatch(/^[0-9a-f]{16}$/)
      expect(keys[0]).toBe(keys[2])
      expect(keys[0]).not.toBe(keys[1])
    })

    it('charges by policy name, and policies of another unit only when they are named', async () => {
      const limiter = open([
        tokenBucket({ name: 'calls', capacity: 10, refillPerSecond: 1 }),
        tokenBucket({ name: 'bytes', capacity: 1000, refillPerSecond: 1, unit: 'content-bytes' }),
      ])
      const left = async (cost?: number | { calls?: number; bytes?: number }) => {
        const decision = await limiter.consume('c', cost === undefined ? {} : { cost })
        return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
      }
      expect([
        await left(),
        await left(3),
        await left({ bytes: 100 }),
        await left({ calls: 0, bytes: 1 }),
      ]).toEqual([
        [9, 1000],
        [6, 1000],
        [5, 900],
        [5, 899],
      ])
    })

    it.each([
      ['a', 'b'],
      ['a:b', 'a%3Ab'],
      ['{a}', 'a'],
      ['a}:{b', 'a%7D%3A%7Bb'],
      ['*', '?'],
      ['\n', '\\n'],
      ['\0', ''.padEnd(1, '0')],
      ['\ud800', '\ud801'],
      ['\ud800', '\ufffd'],
      ['😀', '😁'],
      ['x'.repeat(1_000_000), `${'x'.repeat(999_999)}y`],
      ['a'.repeat(65), 'a'.repeat(64)],
      ['é', 'e\u0301'],
      ['__proto__', 'constructor'],
    ])('never takes one identity for another (case %#)', async (one, other) => {
      const limiter = open([tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 0.001 })])
      const outcomes = [await limiter.consume(one), await limiter.consume(other), await limiter.consume(one)]
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['admitted', 'admitted', 'refused'])
    })

    it('never takes a partition and scope for another pair that reads alike', async () => {
      const limiter = open([
        tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 0.001, perScope: true }),
      ])
      const pairs: [string, string][] = [
        ['a', 'b:c'],
        ['a:b', 'c'],
        ['a', ''],
        ['a:', ''],
        ['a', ':'],
        ['1:a', ''],
      ]
      const outcomes = []
      for (const [who, scope] of pairs) outcomes.push((await limiter.consume(who, { scope })).outcome)
      expect(outcomes).toEqual(pairs.map(() => 'admitted'))
    })

    describe('when the numbers of a policy change under a bucket in use', () => {
      const at = (capacity: number, refillPerSecond: number) =>
        tokenBucket({ name: 'burst', capacity, refillPerSecond })

      async function change(before: Policy, used: number, after: Policy): Promise<Limiter> {
        const first = open([before])
        await first.consume('c', { cost: used })
        return open([after], under)
      }

      it('keeps the units in use when rate and capacity are raised tenfold', async () => {
        const limiter = await change(at(10, 1), 10, at(100, 10))
        expect(short(await limiter.peek('c'))).toBe('admitted 90/9000ms/9s')
      })

      it('lets a call pass after one new refill interval when only the rate is raised', async () => {
        const limiter = await change(at(10, 0.1), 10, at(10, 10))
        expect(short(await limiter.consume('c'))).toBe('refused 0/100ms/1s by burst after 0.1')
        under.advance(100)
        expect((await limiter.consume('c')).outcome).toBe('admitted')
      })

      it('states nothing negative when the capacity is lowered below the units in use, nor a wait of more than a debt', async () => {
        const limiter = await change(at(100, 10), 100, at(10, 10))
        // Two quotas of the new numbers may be in use, however much the old ones granted.
        expect(short(await limiter.consume('c'))).toBe('refused 0/1100ms/2s by burst after 1.1')
        under.advance(600)
        expect(short(await limiter.consume('c'))).toBe('refused 0/500ms/1s by burst after 0.5')
        under.advance(500)
        expect(short(await limiter.consume('c'))).toBe('admitted 0/100ms/1s')
        under.advance(100)
        expect(short(await limiter.consume('c'))).toBe('admitted 0/100ms/1s')
      })

      it('gives back slowly what larger numbers granted, to processes that still go by those', async () => {
        const fresh = await change(at(100, 10), 100, at(10, 10))
        const old = open([at(100, 10)], under)
        const passed = async () => {
          const calls = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? fresh : old).consume('c'))
          return (await Promise.all(calls)).filter(({ allowed }) => allowed).length
        }
        expect(await passed()).toBe(0)
        let all = 0
        for (let step = 0; step < 40; step += 1) {
          under.advance(50)
          all += await passed()
        }
        // In the time that the new numbers take to come back from a debt, as much as the old ones granted at first.
        expect(all).toBeGreaterThanOrEqual(20)
        expect(all).toBeLessThanOrEqual(100)
      })

      it('counts the time before the change at the rate of that time', async () => {
        const before = at(10, 10)
        const first = open([before])
        await first.consume('c', { cost: 10 })
        under.advance(500)
        const limiter = open([at(10, 0.01)], under)
        expect(short(await limiter.peek('c'))).toMatch(/^admitted 5\//)
      })

      it('touches no other bucket when policies are added, removed or put in another order', async () => {
        const [a, b, c] = ['a', 'b', 'c'].map((name) =>
          tokenBucket({ name, capacity: 10, refillPerSecond: 0.001 }),
        )
        const left = async (policies: readonly Policy[], cost: number) => {
          const limiter =
            policies.length === 2 && limiters.length === 0 ? open(policies) : open(policies, under)
          const decision = await limiter.consume('x', { cost })
          return 'limits' in decision ? decision.limits.map((limit) => [limit.policy, limit.available]) : []
        }
        if (a === undefined || b === undefined || c === undefined) throw new Error('no policies')
        expect(await left([a, b], 1)).toEqual([
          ['a', 9],
          ['b', 9],
        ])
        expect(await left([b, c], 2)).toEqual([
          ['b', 7],
          ['c', 8],
        ])
        expect(await left([c, b, a], 1)).toEqual([
          ['c', 7],
          ['b', 6],
          ['a', 8],
        ])
      })
    })

    it('lets no more than capacity and rate pass under twice the load, window after window', async () => {
      const limiter = open([burst])
      let admitted = 0
      for (let ms = 0; ms < 10_000; ms += 50) {
        if ((await limiter.consume('c')).allowed) admitted += 1
        under.advance(50)
      }
      // 10 at once, then 10 each second: of 200 calls in 10 s, at most 10 + 99 and no fewer.
      expect(admitted).toBe(109)
    })
  })

async function answer(limiter: Limiter, ask: string): Promise<string> {
  const [verb, cost] = ask.split(' ')
  if (verb === 'reset') {
    await limiter.reset('c')
    return ''
  }
  return short(await limiter[verb as 'consume' | 'peek']('c', { cost: Number(cost) }))
}
