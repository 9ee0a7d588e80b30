import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bench, benches } from '../stores/stores.js'

const burst = tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 10 })

/** How many share each policy, as a decision states it. */
function instances(decision: Decision): (number | undefined)[] {
  return 'limits' in decision ? decision.limits.map((limit) => limit.instances) : []
}

describe.each(benches)('counting client processes, in $name', (bench) => {
  beforeAll(() => bench.start())
  afterAll(() => bench.stop())

  function limiterFor(policies: readonly Policy[] = [burst], options: object = {}) {
    const { store, advance } = bench.open()
    const limiter = createLimiter({
      policies,
      store,
      onStoreFailure: 'closed',
      denyCache: false,
      countInstances: true,
      ...options,
    }) as Limiter
    const call = async (instance?: string, rest: object = {}) =>
      instances(await limiter.consume('one', { ...(instance !== undefined && { instance }), ...rest }))
    return { limiter, advance, call }
  }

  it('states how many have been admitted of late, the one that calls included', async () => {
    const { call, limiter } = limiterFor()
    expect(await call()).toEqual([undefined])
    expect(await call('a')).toEqual([1])
    expect(await call('b')).toEqual([2])
    expect(await call('a')).toEqual([2])
    expect(await call()).toEqual([2])
    expect(instances(await limiter.consume('two', { instance: 'c' }))).toEqual([1])
  })

  it('forgets one that was not seen for three units of its part, and for two seconds at least', async () => {
    const { call, advance } = limiterFor()
    for (const name of ['a', 'b', 'c']) await call(name)
    advance(2000)
    expect(await call()).toEqual([3])
    advance(1)
    expect(await call()).toEqual([undefined])

    // Ten of them, at ten units a second: each comes but once a second, and counts for three.
    for (let i = 0; i < 10; i += 1) await call(`p${i}`)
    advance(3000)
    expect(await call()).toEqual([10])
    expect(await call('p9')).toEqual([10])
    advance(1)
    expect(await call()).toEqual([1])
  })

  it('counts for each policy by its own rate, and where time gives nothing back not at all', async () => {
    const { call, advance } = limiterFor([
      burst,
      fixedWindow({ name: 'window', quota: 10, windowSeconds: 60 }),
      slidingWindowLog({ name: 'log', quota: 300, windowSeconds: 60 }),
      slidingWindowCounter({ name: 'counter', quota: 60, windowSeconds: 60 }),
      concurrency({ name: 'running', limit: 100, leaseSeconds: 60 }),
    ])
    await call('a')
    await call('b')
    advance(5000)
    expect(await call()).toEqual([undefined, 2, undefined, 2, undefined])
    advance(2000)
    expect(await call()).toEqual([undefined, 2, undefined, undefined, undefined])
  })

  it('counts only those with an admitted call, and tells refused ones of them', async () => {
    const { call, limiter } = limiterFor([tokenBucket({ name: 'few', capacity: 2, refillPerSecond: 0.1 })])
    await call('a')
    await call('b')
    expect((await limiter.consume('one', { instance: 'c' })).outcome).toBe('refused')
    expect(await call('c')).toEqual([2])
    expect(instances(await limiter.peek('one', { instance: 'd' }))).toEqual([2])
    expect(await call()).toEqual([2])
  })

  it('counts each scope by itself where a policy does', async () => {
    const { call } = limiterFor([burst, tokenBucket({ ...perScope, perScope: true })])
    await call('a', { scope: 'GET /' })
    expect(await call('b', { scope: 'POST /' })).toEqual([2, 1])
    expect(await call('a', { scope: 'POST /' })).toEqual([2, 2])
  })

  it('notes nobody whose call is blocked or replayed', async () => {
    const { call, limiter } = limiterFor([burst], { blocks: true })
    await call('a', { id: 'order 1' })
    expect(await call('b', { id: 'order 1' })).toEqual([1])
    await limiter.block('one', 60)
    await call('c')
    await limiter.unblock('one')
    expect(await call()).toEqual([1])
  })

  it('states four times a quota at most, and remembers no more than 256', async () => {
    const { call } = limiterFor([
      tokenBucket({ name: 'few', capacity: 3, refillPerSecond: 0.01 }),
      tokenBucket({ name: 'many', capacity: 1000, refillPerSecond: 0.01 }),
    ])
    for (let i = 0; i < 300; i += 1) await call(`p${i}`, { cost: { few: 0, many: 1 } })
    expect(await call(undefined, { cost: 0 })).toEqual([12, 256])
  })

  it('is right again when the clock was set back', async () => {
    const { call, advance } = limiterFor()
    await call('a')
    await call('b')
    advance(-3_600_000)
    expect(await call('a')).toEqual([2])
    advance(2001)
    expect(await call()).toEqual([undefined])
  })

  it('changes nothing of what is granted, whoever says what', async () => {
    const policies = [
      tokenBucket({ name: 'bucket', capacity: 5, refillPerSecond: 2 }),
      fixedWindow({ name: 'window', quota: 7, windowSeconds: 2 }),
    ]
    const counting = limiterFor(policies)
    const plain = limiterFor(policies, { countInstances: false })
    for (let i = 0; i < 60; i += 1) {
      const said = await counting.limiter.consume('one', { instance: String.fromCharCode(0xd800 + i) })
      const bare = 'limits' in said ? said.limits.map(({ instances: _, ...limit }) => limit) : []
      expect({ ...said, limits: bare }).toEqual(await plain.limiter.consume('one'))
      counting.advance(137)
      plain.advance(137)
    }
  })
})

const perScope = { name: 'route', capacity: 100, refillPerSecond: 10 } as const

interface Step {
  readonly ms: number
  readonly instance: number
  readonly verb: 'consume' | 'peek'
}

async function history(bench: Bench, steps: readonly Step[]): Promise<unknown[]> {
  const { store, advance } = bench.open()
  const limiter = createLimiter({
    policies: [
      tokenBucket({ name: 'bucket', capacity: 3, refillPerSecond: 1 }),
      fixedWindow({ name: 'window', quota: 20, windowSeconds: 5, perScope: true }),
      slidingWindowLog({ name: 'log', quota: 9, windowSeconds: 60, by: 'account' }),
    ],
    store,
    hold: 0.5,
    denyCache: false,
    onStoreFailure: 'closed',
    countInstances: true,
  })
  const said: unknown[] = []
  for (const { ms, instance, verb } of steps) {
    advance(ms)
    const partition = { client: String(instance % 2), account: 'x' }
    said.push(await limiter[verb](partition, instance === 0 ? {} : { instance: `process ${instance}` }))
  }
  await limiter.close()
  return said
}

const [memory, redis] = benches
if (memory === undefined || redis === undefined) throw new Error('no stores')

describe('memory and Redis', { timeout: 60_000 }, () => {
  beforeAll(() => redis.start())
  afterAll(() => redis.stop())

  it('count the same of any history', async () => {
    const steps = fc.array(
      fc.record<Step>({
        ms: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: -5000, max: 20_000 })),
        instance: fc.integer({ min: 0, max: 12 }),
        verb: fc.constantFrom('consume', 'consume', 'consume', 'peek'),
      }),
      { minLength: 1, maxLength: 60 },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        expect(await history(redis, taken)).toEqual(await history(memory, taken))
      }),
      { numRuns: Number(process.env.HISTORIES ?? 60) },
    )
  })
})

it.each([
  ['', 'Expected instance to be a text of 1 to 256 characters, got ""'],
  [7, 'got 7'],
  ['x'.repeat(257), 'got "xxxx'],
])('a process called %j is a mistake of who writes the call', async (instance, message) => {
  const limiter = createLimiter({ policies: [burst], countInstances: true })
  await expect(limiter.consume('one', { instance } as never)).rejects.toThrow(message)
})

it('a process named to a limiter that does not count is a mistake too', async () => {
  const limiter = createLimiter({ policies: [burst] })
  expect(limiter.countsInstances).toBe(false)
  await expect(limiter.consume('one', { instance: 'a' })).rejects.toThrow(
    'This limiter counts no instances: give createLimiter countInstances: true',
  )
})
