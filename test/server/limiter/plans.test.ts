import { createLimiter, fixedWindow, memoryStore, PartitionError, tokenBucket } from '@ratepact/server'
import { describe, expect, it } from 'vitest'

const burst = (capacity: number) => tokenBucket({ name: 'burst', capacity, refillPerSecond: 0.001 })
const daily = fixedWindow({ name: 'daily', quota: 1000, windowSeconds: 86_400, by: 'account' })
const plans = { free: [burst(2)], pro: [burst(20), daily] } as const

const left = (decision: object) =>
  'limits' in decision
    ? (decision.limits as { available: number }[]).map(({ available }) => available)
    : decision

describe('a limiter with plans', () => {
  it('judges each call by its plan, and says which', async () => {
    const limiter = createLimiter({ plans })
    expect(await limiter.consume({ client: 'a', account: 'x' }, { plan: 'free' })).toMatchObject({
      plan: 'free',
      limits: [{ policy: 'burst', quota: 2, available: 1 }],
    })
    expect(await limiter.consume({ client: 'b', account: 'x' }, { plan: 'pro' })).toMatchObject({
      plan: 'pro',
      limits: [
        { policy: 'burst', quota: 20, available: 19 },
        { policy: 'daily', available: 999 },
      ],
    })
  })

  it('keeps what was used when a client changes its plan', async () => {
    const limiter = createLimiter({ plans })
    const who = { client: 'a', account: 'x' }
    await limiter.consume(who, { plan: 'free', cost: { burst: 2 } })
    expect((await limiter.consume(who, { plan: 'free' })).outcome).toBe('refused')
    expect(left(await limiter.consume(who, { plan: 'pro' }))).toEqual([17, 999])
    expect((await limiter.consume(who, { plan: 'free' })).outcome).toBe('refused')
  })

  it('asks only for the kinds that the chosen plan counts', async () => {
    const limiter = createLimiter({ plans })
    const withoutAccount = { client: 'a' } as { client: string; account: string }
    expect((await limiter.consume(withoutAccount, { plan: 'free' })).outcome).toBe('admitted')
    await expect(limiter.consume(withoutAccount, { plan: 'pro' })).rejects.toThrow(PartitionError)
  })

  it('takes the plan from a function, late or at once', async () => {
    const limiter = createLimiter({ plans })
    const who = { client: 'a', account: 'x' }
    expect(left(await limiter.consume(who, { plan: () => 'free' }))).toEqual([1])
    expect(left(await limiter.consume(who, { plan: async () => 'free' as const }))).toEqual([0])
    await expect(
      limiter.consume(who, { plan: async () => Promise.reject(new Error('no database')) }),
    ).rejects.toThrow('no database')
  })

  it('waits for that function no longer than for its store', async () => {
    const store = { ...memoryStore(), timeoutMs: 20 }
    const limiter = createLimiter({ plans, store, onStoreFailure: 'closed' })
    const never = () => new Promise<'free'>(() => {})
    expect((await limiter.consume({ client: 'a', account: 'x' }, { plan: never })).outcome).toBe(
      'unavailable',
    )
  })

  it('refuses a plan that there is not, unless there is a default', async () => {
    const who = { client: 'a', account: 'x' }
    const strict = createLimiter({ plans })
    await expect(strict.consume(who)).rejects.toThrow(
      'Expected plan to be one of "free", "pro", got undefined',
    )
    // @ts-expect-error: no such plan
    await expect(strict.consume(who, { plan: 'gold' })).rejects.toThrow('got "gold"')
    const lenient = createLimiter({ plans, defaultPlan: 'free' })
    expect(await lenient.consume(who)).toMatchObject({ plan: 'free' })
    // @ts-expect-error: no such plan
    expect(await lenient.consume(who, { plan: 'gold' })).toMatchObject({ plan: 'free' })
  })

  it.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'])(
    'takes a plan named %s like any other',
    async (name) => {
      const limiter = createLimiter({
        plans: JSON.parse(`{"${name}":0}`, (key, value) => (key === name ? [burst(1)] : value)),
      })
      expect(await limiter.consume('a', { plan: name as never })).toMatchObject({ plan: name, allowed: true })
      await expect(limiter.consume('a', { plan: 'isPrototypeOf' as never })).rejects.toThrow(
        'Expected plan to be one of',
      )
    },
  )

  it('forgets the policies of all plans, or of one', async () => {
    const limiter = createLimiter({ plans })
    const who = { client: 'a', account: 'x' }
    await limiter.consume(who, { plan: 'pro', cost: { burst: 20, daily: 500 } })
    await limiter.reset(who, { plan: 'free' })
    expect(left(await limiter.peek(who, { plan: 'pro' }))).toEqual([20, 500])
    await limiter.reset(who)
    expect(left(await limiter.peek(who, { plan: 'pro' }))).toEqual([20, 1000])
  })

  it.each([
    [{ plans: {} }, 'Expected plans to have at least one plan, got none'],
    [{ plans: { free: [] } }, 'Expected plans.free to be an array of 1 to 32 policies, got an array of 0'],
    [
      { plans: { free: [burst(1), burst(2)] } },
      'Expected each policy to have a name of its own, got "burst" twice',
    ],
    [
      { plans: { '': [burst(1)] } },
      'Expected each name of plans to be 1 to 64 printable ASCII characters, got ""',
    ],
    [{ plans, defaultPlan: 'gold' }, 'Expected defaultPlan to be one of "free", "pro", got "gold"'],
    [{ plans, policies: [burst(1)] }, 'Expected either policies or plans, got both'],
    [{ policies: [burst(1)], defaultPlan: 'free' }, 'defaultPlan is for a limiter with plans'],
    [{ plans: 7 }, 'Expected plans to be an object, got 7'],
  ])('is refused when it is built wrong (case %#)', (options, message) => {
    expect(() => createLimiter(options as never)).toThrow(message)
  })
})

it('a limiter without plans takes none', async () => {
  const limiter = createLimiter({ policies: [burst(1)] })
  // @ts-expect-error: there are no plans
  await expect(limiter.consume('a', { plan: 'free' })).rejects.toThrow(
    'This limiter has no plans, got plan "free"',
  )
})
