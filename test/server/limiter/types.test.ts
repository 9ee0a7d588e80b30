import { createLimiter, type Decision, type Limiter, type Policy, tokenBucket } from '@ratepact/server'
import { type RedisClient, redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import type { Redis as Redis6 } from 'ioredis6'
import { expect, expectTypeOf, it } from 'vitest'

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1 })
const team = tokenBucket({ name: 'team', capacity: 10, refillPerSecond: 1, by: 'account' })

// Each case is checked by the compiler; running them shows that the types tell the truth.

it('names and kinds are known from the policies', () => {
  const limiter = createLimiter({ policies: [burst, team] })
  expectTypeOf(limiter).toEqualTypeOf<Limiter<'burst' | 'team', 'client' | 'account', never>>()
})

it('a partition has every kind that is counted, and no other', async () => {
  const one = createLimiter({ policies: [burst] })
  const two = createLimiter({ policies: [burst, team] })
  await one.consume('a')
  await one.consume({ client: 'a' })
  await two.consume({ client: 'a', account: 'b' })
  // @ts-expect-error: account is missing
  await expect(two.consume('a')).rejects.toThrow('account')
  // @ts-expect-error: account is missing
  await expect(two.consume({ client: 'a' })).rejects.toThrow('account')
  // @ts-expect-error: nothing counts by team
  await expect(one.consume({ client: 'a', team: 'b' })).rejects.toThrow('team')
  // @ts-expect-error: a partition is needed
  await expect(one.consume()).rejects.toThrow('client')
})

it('a policy counted by another kind than client takes no plain text', async () => {
  const limiter = createLimiter({ policies: [team] })
  await limiter.consume({ account: 'b' })
  // @ts-expect-error: a text is short for the kind client
  await expect(limiter.consume('b')).rejects.toThrow()
})

it('costs are asked for by the names of the policies', async () => {
  const limiter = createLimiter({ policies: [burst, team] })
  await limiter.consume({ client: 'a', account: 'b' }, { cost: { burst: 2, team: 0 } })
  // @ts-expect-error: no such policy
  await expect(limiter.consume({ client: 'a', account: 'b' }, { cost: { brust: 2 } })).rejects.toThrow(
    'brust',
  )
})

it('a decision is told apart by its outcome', async () => {
  const decision = await createLimiter({ policies: [burst, team] }).consume({ client: 'a', account: 'b' })
  expectTypeOf(decision).toEqualTypeOf<Decision<'burst' | 'team'>>()
  if (decision.outcome === 'refused') {
    expectTypeOf(decision.violated).toEqualTypeOf<readonly ('burst' | 'team')[]>()
    expectTypeOf(decision.retryAfterSeconds).toEqualTypeOf<number>()
    expectTypeOf(decision.allowed).toEqualTypeOf<false>()
  }
  if (decision.allowed) expectTypeOf(decision.limits).toExtend<readonly object[]>()
  // @ts-expect-error: not every decision has a wait
  expect(decision.retryAfterSeconds).toBeUndefined()
})

it('policies of unknown names fall back to texts', async () => {
  const policies: Policy[] = [burst]
  const limiter = createLimiter({ policies })
  await limiter.consume('a', { cost: { burst: 1 } })
  await limiter.consume({ client: 'a' })
})

it('builders refuse what they do not know', () => {
  // @ts-expect-error: a misspelt option
  expect(() => tokenBucket({ name: 'a', capacity: 1, refilPerSecond: 1 })).toThrow()
  // @ts-expect-error: numbers are numbers
  expect(() => tokenBucket({ name: 'a', capacity: '1', refillPerSecond: 1 })).toThrow()
  // @ts-expect-error: one of two words
  expect(() => createLimiter({ policies: [burst], onStoreFailure: 'ignore' })).toThrow()
})

it('the clients of ioredis 5 and 6 fit the store as they are', () => {
  expectTypeOf<Redis>().toExtend<RedisClient>()
  expectTypeOf<Redis6>().toExtend<RedisClient>()
  // @ts-expect-error: an address is not a client
  expect(() => redisStore('redis://localhost')).toThrow()
})
