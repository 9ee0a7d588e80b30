import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  PartitionError,
  type Policy,
  tokenBucket,
} from '@ratepact/server'
import { describe, expect, it } from 'vitest'

const options = { name: 'burst', capacity: 10, refillPerSecond: 1 }
const bucket = (changes: object) => () => tokenBucket({ ...options, ...changes } as never)
const limiter = (changes: object) => () =>
  createLimiter({ policies: [tokenBucket(options)], ...changes } as never)

describe('a policy is refused when it is built, by an error that names option, value and rule', () => {
  it.each([
    [
      bucket({ capacity: 0 }),
      'Expected capacity of policy "burst" to be a whole number from 1 to 1000000000000, got 0',
    ],
    [bucket({ capacity: -1 }), 'got -1'],
    [bucket({ capacity: 1.5 }), 'got 1.5'],
    [bucket({ capacity: Number.NaN }), 'got NaN'],
    [bucket({ capacity: Number.POSITIVE_INFINITY }), 'got Infinity'],
    [bucket({ capacity: '10' }), 'got "10"'],
    [bucket({ capacity: 1e21 }), 'got 1e+21'],
    [bucket({ capacity: undefined }), 'got undefined'],
    [
      bucket({ refillPerSecond: 0 }),
      'Expected refillPerSecond of policy "burst" to be a number from 1 per 31 days to 1000000, got 0',
    ],
    [bucket({ refillPerSecond: -2 }), 'got -2'],
    [bucket({ refillPerSecond: Number.NaN }), 'got NaN'],
    [bucket({ refillPerSecond: 1e7 }), 'got 10000000'],
    [bucket({ refillPerSecond: '2' }), 'got "2"'],
    [bucket({ capacity: 1e12, refillPerSecond: 1 / 86_400 }), 'to refill within 70 years'],
    [bucket({ name: 'é' }), 'Expected name to be a policy name matching ^[a-z][a-z0-9_.-]{0,63}$, got "é"'],
    [bucket({ name: '' }), 'got ""'],
    [bucket({ name: 'Burst' }), 'got "Burst"'],
    [bucket({ name: 'a"b' }), 'got "a\\"b"'],
    [bucket({ name: 'x'.repeat(65) }), 'got "xxxx'],
    [bucket({ name: undefined }), 'got undefined'],
    [bucket({ by: '' }), 'Expected by of policy "burst" to be a kind of partition'],
    [bucket({ by: 'a:b' }), 'got "a:b"'],
    [
      bucket({ unit: 'é' }),
      'Expected unit of policy "burst" to be 1 to 64 printable ASCII characters, got "é"',
    ],
    [bucket({ perScope: 1 }), 'Expected perScope of policy "burst" to be one of true, false, got 1'],
    [
      bucket({ refilPerSecond: 1 }),
      'Unknown option "refilPerSecond" of tokenBucket; it takes name, by, perScope, unit, shadow, capacity, refillPerSecond, maxDebt',
    ],
    [
      () => concurrency({ name: 'jobs', limit: 1, leaseSeconds: 1, unit: 'jobs' } as never),
      'Unknown option "unit" of concurrency; it takes name, by, perScope, shadow, limit, leaseSeconds',
    ],
    [
      () => tokenBucket(undefined as never),
      'Expected the options of tokenBucket to be an object, got undefined',
    ],
  ])('case %#', (build, message) => {
    expect(build).toThrow(message)
  })
})

describe('a limiter is refused when it is built', () => {
  it.each([
    [
      () => createLimiter(undefined as never),
      'Expected the options of createLimiter to be an object, got undefined',
    ],
    [limiter({ policies: undefined }), 'Expected policies to be an array of 1 to 32 policies, got undefined'],
    [limiter({ policies: [] }), 'got an array of 0'],
    [
      limiter({ policies: [options] }),
      'Expected each of policies to be made by a builder such as tokenBucket(…), got an object',
    ],
    [limiter({ policies: [null] }), 'got null'],
    [limiter({ policies: [Object.freeze({ algorithm: 'token-bucket' })] }), 'made by a builder'],
    [limiter({ policies: [Object.freeze({ ...tokenBucket(options), quota: -5 })] }), 'made by a builder'],
    [
      () => createLimiter([tokenBucket(options)] as never),
      'Expected the options of createLimiter to be an object, got an array of 1',
    ],
    [
      limiter({ policies: [tokenBucket(options), tokenBucket(options)] }),
      'Expected each policy to have a name of its own, got "burst" twice',
    ],
    [
      limiter({ store: {} }),
      'Expected store to be a store such as memoryStore() or redisStore(client), with run and close, got an object',
    ],
    [limiter({ store: 'redis' }), 'got "redis"'],
    [limiter({ store: memoryStore }), 'got a function'],
    [
      limiter({ onStoreFailure: 'ignore' }),
      'Expected onStoreFailure to be "open", "closed" or { local: { instances } }, got "ignore"',
    ],
    [limiter({ countInstances: 1 }), 'Expected countInstances to be one of true, false, got 1'],
    [limiter({ hold: 0 }), 'Expected hold to be a number of seconds from 0.001 to 10, got 0'],
    [limiter({ hold: 11 }), 'got 11'],
    [limiter({ hold: Number.NaN }), 'got NaN'],
    [limiter({ hold: '1' }), 'got "1"'],
    [
      limiter({ hold: 1, policies: [fixedWindow({ name: 'hourly', quota: 10, windowSeconds: 3600 })] }),
      'Expected a policy that can hold calls for 1 s, a token bucket or a fixed window that grants a unit in that time, got "hourly"',
    ],
    [
      limiter({ hold: 1, policies: [concurrency({ name: 'jobs', limit: 1, leaseSeconds: 9 })] }),
      'got "jobs"',
    ],
    [
      () =>
        createLimiter({
          plans: {
            free: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 1 })],
            pro: [tokenBucket({ name: 'burst', capacity: 9, refillPerSecond: 1, unit: 'content-bytes' })],
          },
        }),
      'Expected the policies "burst" of the plans "free" and "pro", which share what they count, to have one unit, got "requests" and "content-bytes"',
    ],
    [limiter({ onEvent: 'log' }), 'Expected onEvent to be a function, got "log"'],
    [limiter({ policy: [] }), 'Unknown option "policy" of createLimiter'],
  ])('case %#', (build, message) => {
    expect(build).toThrow(message)
  })
})

describe('a call is refused with an error that says what to do', () => {
  const one = createLimiter({ policies: [tokenBucket(options)] })
  const two = createLimiter({
    policies: [tokenBucket(options), tokenBucket({ ...options, name: 'team', by: 'account' })],
  })

  it.each([
    [-1, 'Expected cost to be a whole number from 0 to 1000000000000, got -1'],
    [5n, 'got 5n'],
    [Number.NaN, 'got NaN'],
    [0.5, 'got 0.5'],
    ['1', 'got "1"'],
    [null, 'got null'],
    [{ burst: -1 }, 'Expected cost.burst to be a whole number from 0 to 1000000000000, got -1'],
    [{ bursts: 1 }, 'Unknown option "bursts" of cost; it takes burst'],
    [[1], 'Expected cost to be a number or a record by policy name, got an array of 1'],
  ])('when the cost is %s', async (cost, message) => {
    await expect(one.consume('a', { cost } as never)).rejects.toThrow(message)
  })

  it('when a number is the cost, or what it came to, and no policy counts requests', async () => {
    const tokens = createLimiter({ policies: [tokenBucket({ ...options, unit: 'tokens' })] })
    const message =
      /^Expected (cost|the actual cost) to be a record by policy name, since no policy counts requests, got 5$/
    await expect(tokens.consume('a', { cost: 5 })).rejects.toThrow(message)
    const decision = await tokens.consume('a', { cost: { burst: 5 } })
    await expect(tokens.settle(decision, 5)).rejects.toThrow(message)
    expect(await tokens.settle(decision, { burst: 4 })).toBe(true)
  })

  it.each([
    [
      undefined,
      'Policy "burst" counts by "client": expected partition.client to be a text that is not empty, got undefined',
    ],
    [null, 'got null'],
    ['', 'got ""'],
    [{ client: undefined }, 'got undefined'],
    [{ client: 7 }, 'got 7'],
    [{}, 'got undefined'],
    [42, 'got 42'],
    [new String('a'), 'expected partition.client to be a text that is not empty, got an object'],
    [['a'], 'expected partition.client to be a text that is not empty, got an array of 1'],
  ])('when the partition is %j', async (partition, message) => {
    await expect(one.consume(partition as never)).rejects.toThrow(message)
    await expect(one.peek(partition as never)).rejects.toThrow(PartitionError)
    await expect(one.reset(partition as never)).rejects.toThrow(PartitionError)
  })

  it('when a kind of partition is missing, naming the policy that counts it', async () => {
    await expect(two.consume('a' as never)).rejects.toMatchObject({
      name: 'PartitionError',
      policy: 'team',
      kind: 'account',
    })
  })

  it('when no policy counts a kind of partition', async () => {
    const call = one.consume({ client: 'a', acount: 'b' } as never)
    await expect(call).rejects.toThrow(
      'No policy counts partitions of kind "acount"; the policies count "client"',
    )
  })

  it('when its options are a list', async () => {
    await expect(one.consume('a', [] as never)).rejects.toThrow(
      'Expected the options of the call to be an object, got an array of 0',
    )
  })

  it('when the scope is not a text, or the mode is not one', async () => {
    await expect(one.consume('a', { scope: 7 } as never)).rejects.toThrow(
      'Expected scope to be a text, got 7',
    )
    await expect(one.consume('a', { onStoreFailure: 'x' } as never)).rejects.toThrow(
      'Expected onStoreFailure to be "open", "closed" or',
    )
  })

  it('and nothing was taken by it', async () => {
    expect(await one.peek('a')).toMatchObject({ limits: [{ available: 10 }] })
  })
})

it('a listener that throws harms no call', async () => {
  const failing = createLimiter({
    policies: [tokenBucket(options)],
    store: { name: 'broken', run: () => Promise.reject(new Error('gone')), close: async () => {} },
    onEvent: () => {
      throw new Error('listener')
    },
  })
  expect((await failing.consume('a')).outcome).toBe('unchecked')
})

it.each<[string, () => never[] | Promise<never>]>([
  [
    'throws',
    () => {
      throw new Error('at once')
    },
  ],
  ['rejects', () => Promise.reject(new Error('later'))],
  ['rejects with nothing', () => Promise.reject(undefined)],
  ['never answers', () => new Promise(() => {})],
  ['answers nothing', () => []],
])('a store that %s is a store that failed', async (_, run) => {
  const store = { name: 'own', timeoutMs: 20, run, close: async () => {} }
  const policies: readonly Policy[] = [tokenBucket(options)]
  expect(await createLimiter({ policies, store, onStoreFailure: 'closed' }).consume('a')).toEqual({
    outcome: 'unavailable',
    allowed: false,
    retryAfterSeconds: 5,
    source: 'none',
    shadow: [],
  })
  expect((await createLimiter({ policies, store }).consume('a')).outcome).toBe('unchecked')
  expect((await createLimiter({ policies, store }).consume('a', { onStoreFailure: 'closed' })).outcome).toBe(
    'unavailable',
  )
})

it.each<[string, unknown]>([
  ['nothing that can be shown', Object.create(null)],
  [
    'something that throws when it is shown',
    {
      toString() {
        throw new Error('toString')
      },
    },
  ],
])('a store that rejects with %s is a store that failed', async (_, reason) => {
  const store = { name: 'own', run: () => Promise.reject(reason), close: async () => {} }
  const failing = createLimiter({ policies: [tokenBucket(options)], store, onStoreFailure: 'closed' })
  expect((await failing.consume('a')).outcome).toBe('unavailable')
})

it.each([
  [[null]],
  [[{}]],
  [[{ admitted: true }]],
  [[{ admitted: true, nowUs: 1, blockedUs: 0, readings: [[Number.NaN]], healed: [] }]],
])('a store that answers %j is a store that failed', async (replies) => {
  const store = { name: 'own', run: () => replies as never, close: async () => {} }
  const failing = createLimiter({ policies: [tokenBucket(options)], store, onStoreFailure: 'closed' })
  expect((await failing.consume('a')).outcome).toBe('unavailable')
})

it.each([
  [
    () => createLimiter({ policies: [tokenBucket(options)], clock: {} as never }),
    'Expected clock to be a clock whose now() gives a number',
  ],
  [
    () => createLimiter({ policies: [tokenBucket(options)], clock: { now: () => 1 } as never }),
    'Expected clock.setTimeout to be a function',
  ],
  [() => memoryStore({ clock: {} as never }), 'Expected clock to be a clock whose now() gives a number'],
  [
    () => memoryStore({ clock: { now: () => Number.NaN } }),
    'Expected clock to be a clock whose now() gives a number',
  ],
  [() => memoryStore({ random: 4 as never }), 'Expected random to be a function, got 4'],
  [
    () =>
      createLimiter({ policies: [tokenBucket(options)], store: { ...memoryStore(), timeoutMs: 2 ** 40 } }),
    'Expected timeoutMs of the store to be a whole number from 1 to 60000',
  ],
])('what time is told by is checked when it is given (case %#)', (build, message) => {
  expect(build).toThrow(message)
})

it('a policy may have any name that the rule allows', async () => {
  const own = createLimiter({
    policies: [tokenBucket({ ...options, name: 'constructor' }), tokenBucket({ ...options, name: 'b' })],
  })
  expect(await own.consume('a', { cost: { b: 1 } as never })).toMatchObject({
    limits: [{ available: 9 }, { available: 9 }],
  })
})

it('a listener that rejects harms nobody', async () => {
  const store = { name: 'broken', run: () => Promise.reject(new Error('gone')), close: async () => {} }
  const onEvent = (async () => {
    throw new Error('listener')
  }) as () => void
  expect(
    (await createLimiter({ policies: [tokenBucket(options)], store, onEvent }).consume('a')).outcome,
  ).toBe('unchecked')
})

it('an option that a call does not have is refused by its name', async () => {
  const limiter = createLimiter({ policies: [tokenBucket({ name: 'p', capacity: 1, refillPerSecond: 1 })] })
  await expect(limiter.consume('a', { csot: 1 } as never)).rejects.toThrow('Unknown option "csot" of a call')
})

it('leases that would come on top of a share, or be more than there is, are refused', async () => {
  const policies = [tokenBucket({ name: 'p', capacity: 50, refillPerSecond: 1 })]
  const local = { local: { instances: 1 } }
  expect(() => createLimiter({ policies, leases: {}, onStoreFailure: local })).toThrow('exclude each other')
  expect(() => createLimiter({ policies, leases: { units: 51 } })).toThrow(
    'Expected leases.units to be at most the quota of policy "p", 50, got 51',
  )
  const limiter = createLimiter({ policies, leases: {} })
  await expect(limiter.consume('a', { onStoreFailure: local })).rejects.toThrow('exclude each other')
  await limiter.close()
})
