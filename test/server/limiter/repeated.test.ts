import {
  createLimiter,
  fixedWindow,
  type Limiter,
  PartitionError,
  type Policy,
  type Refused,
  tokenBucket,
} from '@ratepact/server'
import { type TestClock, testClock } from '@ratepact/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FarStore, farStore } from '../failure/store.js'

let clock: TestClock
let store: FarStore
beforeEach(() => {
  clock = testClock()
  store = farStore(clock)
})

const bucket = tokenBucket({ name: 'bucket', capacity: 10, refillPerSecond: 0.5 })
const window = fixedWindow({ name: 'window', quota: 20, windowSeconds: 600, anchor: 'first-request' })

function open(settings: object = {}): Limiter {
  const policies: readonly Policy[] = [bucket, window]
  return createLimiter({ policies, store, clock, denyCacheMaxSeconds: 3600, ...settings })
}

async function refused(limiter: Limiter, who: string | Record<string, string>, call = {}): Promise<Refused> {
  const decision = await limiter.consume(who, call)
  if (decision.outcome !== 'refused') throw new Error(`Expected a refusal, got ${decision.outcome}`)
  return decision
}

describe('a refusal that is repeated', () => {
  it('says at every instant what the store would say, whatever calls cost', async () => {
    const limiter = open()
    const asking = open({ denyCache: false })
    await limiter.consume('a', { cost: 10 })
    await refused(limiter, 'a')
    // Within one millisecond, over its end, over many of them.
    for (const ms of [0, 0.25, 0.5, 0.125, 0.25, 1, 250.75, 0, 1000]) {
      await clock.advance(ms)
      for (const call of [{}, { cost: 3 }, { cost: 3 }, { cost: { bucket: 3 } }, {}, { cost: 2 }]) {
        const again = await refused(limiter, 'a', call)
        const asked = await asking.peek('a', call)
        if (asked.outcome !== 'refused') throw new Error(asked.outcome)
        expect([again.source, asked.source]).toEqual(['deny-cache', 'store'])
        expect(again.violated).toEqual(asked.violated)
        expect(again.limits.map(({ cost }) => cost)).toEqual(asked.limits.map(({ cost }) => cost))
        // Both round up, from instants that are rounded by themselves.
        const later = again.retryAfterSeconds - asked.retryAfterSeconds
        expect(later).toBeGreaterThan(-1e-6)
        expect(later).toBeLessThan(0.0011)
        const waits = [again, asked].map(({ limits }) => limits[0]?.effectiveWindowMs ?? 0)
        expect([0, 1]).toContain((waits[0] ?? 0) - (waits[1] ?? 0))
      }
    }
  })

  it('is a decision of its own each time, of which there is nothing to give back', async () => {
    const limiter = open()
    await limiter.consume('a', { cost: 10 })
    await refused(limiter, 'a')
    const [one, other] = [await refused(limiter, 'a'), await refused(limiter, 'a')]
    expect(one).toEqual(other)
    expect(one).not.toBe(other)
    expect([await limiter.refund(one), await limiter.refund(other)]).toEqual([false, false])
  })

  it('is one for a text and for a record that names no other', async () => {
    const limiter = open()
    await limiter.consume('a', { cost: 10 })
    await refused(limiter, { client: 'a' })
    expect((await refused(limiter, 'a')).source).toBe('deny-cache')
    expect((await refused(limiter, { client: 'a' })).source).toBe('deny-cache')
    await expect(limiter.consume({ client: 'a', account: '7' })).rejects.toThrow(PartitionError)
    expect((await limiter.consume({ client: 'b' })).outcome).toBe('admitted')
  })

  it('is of the kind that is counted, and of each value where several are', async () => {
    const tenants = open({
      policies: [tokenBucket({ name: 'own', capacity: 1, refillPerSecond: 0.1, by: 'tenant' })],
    })
    await tenants.consume({ tenant: 'a' })
    await refused(tenants, { tenant: 'a' })
    expect((await refused(tenants, { tenant: 'a' })).source).toBe('deny-cache')
    for (const who of ['a', { client: 'a' }, { tenant: 'a', client: 'b' }, { tenant: 1 }, null, ['a']])
      await expect(tenants.consume(who as never)).rejects.toThrow(PartitionError)
    const both = open({
      policies: [
        tokenBucket({ name: 'mine', capacity: 1, refillPerSecond: 0.1 }),
        tokenBucket({ name: 'ours', capacity: 9, refillPerSecond: 0.1, by: 'tenant' }),
      ],
    })
    await both.consume({ client: 'a', tenant: 'b' })
    await refused(both, { client: 'a', tenant: 'b' })
    expect((await refused(both, { client: 'a', tenant: 'b' })).source).toBe('deny-cache')
    expect((await refused(both, { client: 'a', tenant: 'c' })).source).toBe('store')
    expect((await both.consume({ client: 'c', tenant: 'b' })).outcome).toBe('admitted')
  })

  it('names the plan that it was made by, and is of that plan alone', async () => {
    const daily = { name: 'daily', windowSeconds: 86_400 } as const
    const plans = { free: [fixedWindow({ ...daily, quota: 1 })], paid: [fixedWindow({ ...daily, quota: 3 })] }
    const limiter = open({ policies: undefined, plans })
    for (const source of ['store', 'store', 'deny-cache']) {
      const decision = await limiter.consume('a', { plan: 'free' })
      expect(decision).toMatchObject({ plan: 'free', source })
    }
    expect((await limiter.consume('a', { plan: 'paid' })).outcome).toBe('admitted')
  })

  it('is counted by `top` for as long as it goes on, in the minutes in which it is', async () => {
    const slow = fixedWindow({ name: 'slow', quota: 1, windowSeconds: 86_400, anchor: 'first-request' })
    const limiter = open({ policies: [slow] })
    await limiter.consume('a')
    for (let minute = 0; minute < 10; minute += 1) {
      for (let call = 0; call < 5; call += 1) await refused(limiter, 'a')
      await limiter.peek('a')
      await clock.advance(60_000)
    }
    expect(store.asked).toHaveLength(2)
    expect(limiter.top(5)).toEqual([{ kind: 'client', value: 'a', policy: 'slow', atLeast: 25, atMost: 25 }])
  })
})
