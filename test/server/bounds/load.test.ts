import { createLimiter, type Limiter, type Policy, type Store, slidingWindowCounter } from '@ratepact/server'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import type { Call, Rule } from './definitions.js'
import { type HandClock, handClock, handScripts, memoryOn, redisOn } from './hand-clock.js'
import { brokenBound, counterBound } from './promises.js'
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
      return redisOn(client, handScripts(clock), `load${prefixes}-`)
    },
  ],
]

const WINDOW_US = 60e6
const QUOTA = 20
const rate = { units: QUOTA, us: WINDOW_US, longestUs: Number.POSITIVE_INFINITY }
const rules: readonly Rule[] = [
  { kind: 'bucket', quota: QUOTA, ...rate },
  { kind: 'queue', quota: QUOTA, ...rate },
  { kind: 'calendar', quota: QUOTA, windowUs: WINDOW_US },
  { kind: 'from-first', quota: QUOTA, windowUs: WINDOW_US },
  { kind: 'log', quota: QUOTA, windowUs: WINDOW_US },
  { kind: 'counter', quota: QUOTA, windowUs: WINDOW_US },
]

function open(policies: readonly Policy[], store: Store): Limiter {
  return createLimiter({ policies, store, onStoreFailure: 'closed', denyCache: false }) as Limiter
}

/** Calls of one unit at the instants given; those that were admitted. */
async function admitted(limiter: Limiter, clock: HandClock, instants: readonly number[]): Promise<Call[]> {
  const calls: Call[] = []
  for (const atUs of instants) {
    clock.nowUs = atUs
    if ((await limiter.consume('c')).allowed) calls.push({ atUs, cost: 1, endUs: atUs })
  }
  return calls
}

describe.each(stores)('twice the load for ten windows %s', (_, store) => {
  it.each(rules.map((rule) => [rule.kind, rule] as const))(
    'stays within the bound of a policy of the kind %s, and uses what it gives',
    async (_kind, rule) => {
      const clock = handClock()
      const limiter = open([policyOf({ rule, by: 'client' }, 'p')], store(clock))
      // Not in step with anything: a little more often than twice in the time of a unit, from the middle of a window.
      const everyUs = 1_499_977
      const from = clock.nowUs + 31e6
      const instants = Array.from({ length: 10 * 2 * QUOTA }, (_, i) => from + i * everyUs)
      const calls = await admitted(limiter, clock, instants)
      await limiter.close()
      expect(brokenBound(rule, calls)).toBeUndefined()
      // What is there at first, and what comes back in ten windows; a window's share is lost at either end.
      expect(calls.length).toBeGreaterThanOrEqual(9 * QUOTA)
      expect(calls.length).toBeLessThanOrEqual(11 * QUOTA)
    },
  )

  it('leaves the quota of a shared account to others when one client asks for far more than its own', async () => {
    const clock = handClock()
    const own: Rule = { kind: 'calendar', quota: 1, windowUs: WINDOW_US }
    for (const shared of rules) {
      const policies = [
        policyOf({ rule: own, by: 'client' }, 'own'),
        policyOf({ rule: shared, by: 'account' }, 'all'),
      ]
      const limiter = open(policies, store(clock))
      const call = (who: string) => limiter.consume({ client: who, account: 'x' })
      const outcomes = []
      for (let i = 0; i < 2 * QUOTA; i += 1) outcomes.push((await call('greedy')).outcome)
      expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(1)
      const others = []
      for (let i = 0; i < QUOTA; i += 1) others.push((await call(`other-${i}`)).outcome)
      expect(others.filter((outcome) => outcome === 'admitted')).toHaveLength(QUOTA - 1)
      await limiter.close()
    }
  })
})

describe.each(stores)('the pattern that a sliding counter bears worst %s', (_, store) => {
  it.each([1, 2, 7, 20])('lets pass what its bound allows with a quota of %d, and no more', async (quota) => {
    const clock = handClock()
    const windowSeconds = WINDOW_US / 1e6
    const limiter = open([slidingWindowCounter({ name: 'p', quota, windowSeconds })], store(clock))
    const edge = clock.nowUs + WINDOW_US
    const burst = Array.from({ length: quota }, () => edge - 1)
    // As their share falls, the next fits each time that another of them is no longer counted.
    const drips = Array.from({ length: quota }, (_, i) => edge + Math.ceil(((i + 1) * WINDOW_US) / quota))
    const last = drips.map((atUs) => Math.min(atUs, edge + WINDOW_US - 2))
    const calls = await admitted(limiter, clock, [...burst, ...last])
    await limiter.close()
    expect(calls).toHaveLength(counterBound(quota))
    expect(brokenBound({ kind: 'counter', quota, windowUs: WINDOW_US }, calls)).toBeUndefined()
  })
})
