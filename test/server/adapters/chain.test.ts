import { concurrency, createLimiter, type Limiter, leakyBucket, tokenBucket } from '@ratepact/server'
import { describe, expect, it } from 'vitest'
import { until } from '../../wait.js'
import { handStore } from '../express/helper.js'
import { fronts } from './fronts.js'

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 0.1 })
const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.05 })

async function left(limiter: Limiter, partition = 'a'): Promise<number | undefined> {
  const decision = await limiter.peek(partition)
  return 'limits' in decision ? decision.limits[0]?.available : undefined
}

const members = (field = ''): readonly string[] => field.split(', ').sort()
const matching = (pattern: RegExp) => expect.stringMatching(pattern)

describe.each(fronts)('Several limiters on $name', ({ open }) => {
  const limiterOf = (policy: typeof burst | typeof one) =>
    createLimiter({ policies: [policy], store: handStore().store }) as Limiter
  const partition = () => 'a'

  it('state their limits in one field and ask for one wait, the longest', async () => {
    const { ask } = await open([
      { limiter: limiterOf(burst), partition },
      { limiter: limiterOf(one), partition },
    ])
    const first = await ask('/')
    expect(members(first.headers.ratelimit)).toMatchObject([/^"burst";r=9;/, /^"one";r=0;/].map(matching))
    expect(members(first.headers['ratelimit-policy'])).toMatchObject(
      [/^"burst";q=10;/, /^"one";q=1;/].map(matching),
    )
    const second = await ask('/')
    expect([second.status, second.headers['retry-after']]).toEqual([429, '20'])
    expect(members(second.headers.ratelimit)).toMatchObject([/^"burst";r=8;/, /^"one";r=0;/].map(matching))
  })

  it('charge a refused request nowhere: those before the one that refuses give back', async () => {
    const limiters = [limiterOf(burst), limiterOf(burst), limiterOf(one)]
    const { ask } = await open(limiters.map((limiter) => ({ limiter, partition, onWarning: () => {} })))
    await ask('/')
    for (let i = 0; i < 3; i += 1) expect((await ask('/')).status).toBe(429)
    for (const limiter of limiters.slice(0, 2))
      await until('it is given back', async () => (await left(limiter)) === 9)
    expect(await left(limiters[2] as Limiter)).toBe(0)
  })

  it('give back too what comes before one that costs too much, blocks, cannot be asked, or would hold for too long', async () => {
    const blocked = createLimiter({ policies: [one], blocks: true })
    await blocked.block('a', 60)
    const queue = leakyBucket({ name: 'queue', capacity: 10, leakPerSecond: 0.05 })
    const held = createLimiter({ policies: [queue] })
    await held.consume('a')
    const down = {
      name: 'down',
      timeoutMs: 20,
      run: () => Promise.reject(new Error('gone')),
      close: async () => {},
    }
    const lasts = [
      { limiter: limiterOf(one), partition, cost: 2 },
      { limiter: blocked, partition },
      { limiter: createLimiter({ policies: [one], store: down }), partition, onStoreFailure: 'closed' },
      { limiter: held, partition },
    ]
    for (const last of lasts) {
      const before = limiterOf(burst)
      const { ask } = await open([{ limiter: before, partition }, last])
      expect((await ask('/')).status).toBeGreaterThanOrEqual(429)
      await until('it is given back', async () => (await left(before)) === 10)
    }
  })

  it('give places back, and only once', async () => {
    const places = createLimiter({ policies: [concurrency({ name: 'running', limit: 2, leaseSeconds: 60 })] })
    const calls = { refund: 0, release: 0 }
    const counting = (effect: keyof typeof calls) => async (decision: never) => {
      const done = await places[effect](decision)
      if (done) calls[effect] += 1
      return done
    }
    const limiter = { ...places, refund: counting('refund'), release: counting('release') }
    const { ask } = await open([
      { limiter, partition },
      { limiter: limiterOf(one), partition },
    ])
    expect((await ask('/')).status).toBe(200)
    await until('its place is free', async () => calls.release === 1)
    expect((await ask('/')).status).toBe(429)
    await until('its place is free', async () => (await left(places as never)) === 2)
    expect(calls).toEqual({ refund: 1, release: 1 })
  })
})
