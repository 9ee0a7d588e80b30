import { createLimiter, type Limiter, type Store } from '@ratepact/server'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import type { Rule } from './definitions.js'
import { type HandClock, handClock, handScripts, memoryOn, redisOn } from './hand-clock.js'
import { policyOf } from './rules.js'

let server: TestRedis
let client: Redis
let prefixes = 0
beforeAll(async () => {
  server = await startRedis()
  client = server.client()
})
afterAll(() => server.stop())

const stores: readonly (readonly [name: string, open: (clock: HandClock) => Store])[] = [
  ['in memory', memoryOn],
  [
    'in Redis',
    (clock) => {
      prefixes += 1
      return redisOn(client, handScripts(clock), `rate${prefixes}-`)
    },
  ],
]

/** Units a second: the slowest and the fastest, and some that are no ratio of small numbers. */
const rates = [1 / (30 * 86_400), 1 / 86_400, 1 / 7, 1 / 3, 1, 2.5, 7, 333.333, 12_345.678, 999_999, 1e6]
/** How many units are used up and waited for: many, but no more than come back in a lifetime. */
const many = (perSecond: number) => Math.min(5000, Math.floor(60 * 365 * 86_400 * perSecond))

function open(rule: Rule, store: Store): Limiter {
  const policies = [policyOf({ rule, by: 'client' }, 'p')]
  return createLimiter({ policies, store, onStoreFailure: 'closed', denyCache: false }) as Limiter
}

async function available(limiter: Limiter): Promise<number> {
  const decision = await limiter.peek('c')
  return 'limits' in decision ? (decision.limits[0]?.available ?? -1) : -1
}

describe.each(stores)('a rate is right to 0.1 % %s', (_, store) => {
  describe.each(['bucket', 'queue'] as const)('of a %s', (kind) => {
    it.each(rates)('of %d per second', async (perSecond) => {
      const clock = handClock()
      const quota = many(perSecond)
      const rule: Rule = {
        kind,
        quota,
        units: 1,
        us: 1e6 / perSecond,
        longestUs: Number.POSITIVE_INFINITY,
      }
      const limiter = open(rule, store(clock))
      await limiter.consume('c', { cost: quota })
      let passedUs = 0
      let used = 0
      // In steps that are in no proportion to the rate, with what has come back used up at each.
      for (const share of [0.137, 0.0021, 0.3119, 0.25, 0.1737]) {
        const stepUs = Math.ceil(share * quota * rule.us)
        passedUs += stepUs
        clock.nowUs += stepUs
        const back = await available(limiter)
        if (back > 0) expect((await limiter.consume('c', { cost: back })).allowed).toBe(true)
        used += Math.max(0, back)
      }
      await limiter.close()
      const ideal = (passedUs / 1e6) * perSecond
      expect(used).toBeGreaterThanOrEqual(Math.floor(ideal * 0.999))
      expect(used).toBeLessThanOrEqual(Math.ceil(ideal * 1.001))
    })
  })

  it.each(rates.filter((perSecond) => perSecond <= 1000))(
    'when there is one unit at most, and %d per second: whoever waits as told gets it each time',
    async (perSecond) => {
      for (const rule of ofOne(1e6 / perSecond)) {
        const clock = handClock()
        // The first window of the calendar is a whole one.
        if ('windowUs' in rule) clock.nowUs += rule.windowUs - (clock.nowUs % rule.windowUs)
        const limiter = open(rule, store(clock))
        const from = clock.nowUs
        let refusals = 0
        for (let admitted = 0; admitted < 30; ) {
          const decision = await limiter.consume('c')
          if (decision.outcome === 'admitted') admitted += 1
          if (decision.outcome !== 'refused') continue
          refusals += 1
          clock.nowUs += Math.round(decision.retryAfterSeconds * 1e6)
        }
        await limiter.close()
        expect(refusals).toBe(29)
        const slowness = rule.kind === 'counter' ? 2 : 1
        const ideal = (29 * slowness * 1e6) / perSecond
        expect(Math.abs(clock.nowUs - from - ideal)).toBeLessThanOrEqual(ideal * 0.001)
      }
    },
  )
})

/** Every algorithm with one unit. A counter of one counts it until its share is nothing: for two windows. */
function ofOne(us: number): readonly Rule[] {
  const windowUs = Math.round(us)
  return [
    { kind: 'bucket', quota: 1, units: 1, us, longestUs: Number.POSITIVE_INFINITY },
    { kind: 'queue', quota: 1, units: 1, us, longestUs: Number.POSITIVE_INFINITY },
    { kind: 'calendar', quota: 1, windowUs },
    { kind: 'from-first', quota: 1, windowUs },
    { kind: 'log', quota: 1, windowUs },
    { kind: 'counter', quota: 1, windowUs },
  ]
}
