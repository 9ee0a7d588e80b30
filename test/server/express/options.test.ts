import { createLimiter, memoryStore, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { describe, expect, it } from 'vitest'

const policy = tokenBucket({ name: 'all', capacity: 20, refillPerSecond: 1 })
const policies = [policy]
const limiter = createLimiter({ policies })
const planned = createLimiter({ plans: { a: policies } })
const byAccount = tokenBucket({ name: 'daily', capacity: 10, refillPerSecond: 1, by: 'account' })
const limiters =
  'policies, plans, defaultPlan, candidate, store, blocks, denyCache, denyCacheMaxSeconds, leases, shards, random, idSeconds, hold, countInstances, name, metrics, onEvent, onDecision, logger, clock'
const ours =
  'partition, missingPartition, cost, scope, plan, skip, allow, deny, preflights, chargeWhen, settle, onDenied, onStoreFailure, headers, onWarning'

describe('rateLimit', () => {
  it('is named, for traces that show the names of middleware', () => {
    expect(rateLimit({ policies }).name).toBe('rateLimit')
    expect(rateLimit({ limiter })).toHaveLength(3)
  })

  it('takes all that a limiter is made from', () => {
    expect(rateLimit({ policies, random: () => 0.5, shards: { client: 2 }, denyCache: false })).toBeTypeOf(
      'function',
    )
  })

  it('takes a plan that there is, one that is told per call, or a default', () => {
    const plans = { a: policies }
    rateLimit({ plans, plan: 'a' })
    rateLimit({ plans, plan: () => 'zz' })
    rateLimit({ plans, defaultPlan: 'a' })
    rateLimit({ limiter: planned, plan: 'a' })
    rateLimit({ limiter: createLimiter({ plans, defaultPlan: 'a' }) })
  })

  it.each<readonly [given: unknown, message: string]>([
    [undefined, 'Expected the options of rateLimit to be an object, got undefined'],
    [limiter.consume, 'Expected the options of rateLimit to be an object, got a function'],
    [{}, 'Expected rateLimit to be given either limiter, policies or plans'],
    [{ limiter, policies }, 'Expected rateLimit to be given either limiter, policies or plans'],
    [{ policies: [] }, 'Expected policies to be an array of 1 to 32 policies, got an array of 0'],
    [{ limiter: { consume() {} } }, 'Expected limiter to be made by createLimiter(…), got an object'],
    [
      { policies, store: {} },
      'Expected store to be a store such as memoryStore() or redisStore(client), with run and close, got an object',
    ],
    [
      { limiter, store: memoryStore() },
      `Unknown option "store" of rateLimit with a limiter; it takes ${ours}, clock`,
    ],
    [
      { policies, windowMs: 1000 },
      `Unknown option "windowMs" of rateLimit without a limiter; it takes ${limiters}, ${ours}`,
    ],
    [{ limiter, clock: {} }, 'Expected clock to be a clock whose now() gives a number, got an object'],
    [{ policies, partition: 'x' }, 'Expected partition to be a function, got "x"'],
    [{ policies, skip: true }, 'Expected skip to be a function, got true'],
    [{ policies, onDenied: {} }, 'Expected onDenied to be a function, got an object'],
    [{ policies, onWarning: 1 }, 'Expected onWarning to be a function, got 1'],
    [
      { policies, missingPartition: 'ignore' },
      'Expected missingPartition to be one of "address", "reject", "skip", got "ignore"',
    ],
    [
      { policies, onStoreFailure: 'half' },
      'Expected onStoreFailure to be "open", "closed" or { local: { instances } }, got "half"',
    ],
    [{ policies, cost: -1 }, 'Expected cost to be a whole number from 0 to 1000000000000, got -1'],
    [{ policies, cost: { othr: 1 } }, 'Unknown option "othr" of cost; it takes all'],
    [
      { policies, chargeWhen: 'refused' },
      'Expected chargeWhen to be one of "failed", "succeeded", got "refused"',
    ],
    [{ policies, settle: 1 }, 'Expected settle to be a function, got 1'],
    [{ policies, scope: 3 }, 'Expected scope to be a text or a function, got 3'],
    [{ policies, headers: [] }, 'Expected headers to be false or an object, got an array of 0'],
    [{ policies, headers: true }, 'Expected headers to be false or an object, got true'],
    [{ policies, headers: { draft: 8 } }, 'Expected headers.draft to be one of 11, 12, "dual", got 8'],
    [{ policies, headers: { hints: 1 } }, 'Expected headers.hints to be one of true, false, got 1'],
    [
      { policies, headers: { legacy: 'draft-8' } },
      'Expected headers.legacy to be one of true, false, "x-ratelimit", "draft-7", "draft-6", "draft-3", got "draft-8"',
    ],
    [{ policies, headers: { legacy: 1 } }, 'Expected headers.legacy to be one of true, false'],
    [
      { policies, headers: { legacy: 'draft-7', draft: 12 } },
      'Expected headers.draft to be left out with headers.legacy "draft-7", which takes its place, got 12',
    ],
    [
      { policies, headers: { names: 'both' } },
      'Unknown option "names" of headers; it takes draft, hints, legacy',
    ],
    [
      { policies: [policy, byAccount] },
      'Expected partition to be given to rateLimit: its policies count by "account"',
    ],
    [{ plans: { a: policies }, plan: 'zz' }, 'Expected plan to be one of "a", got "zz"'],
    [{ plans: { a: policies }, defaultPlan: 'a', plan: 'zz' }, 'Expected plan to be one of "a", got "zz"'],
    [{ plans: { a: policies } }, 'Expected plan to be one of "a", got undefined'],
    [{ limiter: planned, plan: 'gold' }, 'Expected plan to be one of "a", got "gold"'],
    [{ limiter: planned }, 'Expected plan to be one of "a", got undefined'],
    [{ limiter, plan: 'a' }, 'This limiter has no plans, got plan "a"'],
    [{ policies, plan: 'a' }, 'Expected plan to be left out where there are policies and no plans, got "a"'],
    [
      { policies, plan: () => 'a' },
      'Expected plan to be left out where there are policies and no plans, got a function',
    ],
  ])('refuses %j and says why', (given, message) => {
    expect(() => rateLimit(given as never)).toThrow(message)
  })
})
