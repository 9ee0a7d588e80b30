import {
  concurrency,
  createLimiter,
  type Limiter,
  type LimiterEvent,
  memoryStore,
  tokenBucket,
} from '@ratepact/server'
import { describe, expect, it } from 'vitest'

const burst = tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 1 })

async function availableOf(limiter: Limiter, who: string) {
  const decision = await limiter.peek(who)
  return 'limits' in decision ? decision.limits[0]?.available : undefined
}

function open(maxBuckets: number) {
  let nowMs = 0
  const events: LimiterEvent[] = []
  const limiter = createLimiter({
    policies: [burst],
    store: memoryStore({ maxBuckets, clock: { now: () => nowMs } }),
    onEvent: (event) => events.push(event),
  })
  const available = (who: string) => availableOf(limiter, who)
  return { limiter, events, available, advance: (ms: number) => (nowMs += ms) }
}

describe('a memory store that is full', () => {
  it('forgets the bucket with the fewest units in use, and says which', async () => {
    const { limiter, events, available } = open(3)
    await limiter.consume('heavy', { cost: 9 })
    await limiter.consume('light', { cost: 1 })
    await limiter.consume('middle', { cost: 5 })
    await limiter.consume('new')
    expect(events).toEqual([
      { type: 'evicted', policy: 'burst', owner: { kind: 'client', value: 'light' }, times: 1 },
    ])
    expect([await available('heavy'), await available('middle'), await available('light')]).toEqual([
      1, 5, 10,
    ])
  })

  it('forgets expired buckets before any other, without telling', async () => {
    const { limiter, events, available, advance } = open(20)
    await limiter.consume('heavy', { cost: 10 })
    for (let i = 0; i < 19; i += 1) await limiter.consume(`short-${i}`)
    advance(1001)
    for (let i = 0; i < 19; i += 1) await limiter.consume(`new-${i}`, { cost: 2 })
    expect(events).toEqual([])
    expect(await available('heavy')).toBe(1)
  })

  it('keeps who used up a quota through a flood of names that nobody knows', async () => {
    const { limiter, available } = open(100)
    await limiter.consume('abuser', { cost: 10 })
    for (let i = 0; i < 50_000; i += 1) await limiter.consume(`forged-${i}`)
    expect(await available('abuser')).toBe(0)
  })

  it('goes on with room for one bucket', async () => {
    const { limiter, available } = open(1)
    await limiter.consume('a', { cost: 10 })
    await limiter.consume('b', { cost: 10 })
    expect(await available('b')).toBe(0)
  })

  it('counts who comes by what it took, also where who hears of the bucket that left calls at once', async () => {
    const limiter = createLimiter({
      policies: [burst],
      store: memoryStore({ maxBuckets: 2, clock: { now: () => 0 } }),
      onEvent: () => void limiter.consume('heavy'),
    })
    await limiter.consume('heavy', { cost: 8 })
    await limiter.consume('light', { cost: 1 })
    await limiter.consume('new', { cost: 3 })
    expect([await availableOf(limiter, 'new'), await availableOf(limiter, 'heavy')]).toEqual([7, 1])
  })

  it('grows no further under ten thousand names', async () => {
    const { limiter, events } = open(1000)
    for (let i = 0; i < 10_000; i += 1) await limiter.consume(`name-${i}`, { cost: 3 })
    // Told a few times at once, and with all that was kept back when a second is over.
    const told = () => events.reduce((sum, event) => sum + ('times' in event ? event.times : 0), 0)
    for (let more = 0; told() < 9000; more += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      await limiter.consume(`more-${more}`, { cost: 3 })
    }
    expect(told()).toBeLessThan(9500)
    expect(events.length).toBeLessThan(100)
  })
})

it.each([
  [{ maxBuckets: 0 }, 'Expected maxBuckets to be a whole number from 1 to 16777216, got 0'],
  [{ maxBuckets: Number.NaN }, 'got NaN'],
  [{ max: 1 }, 'Unknown option "max" of memoryStore'],
  [null, 'Expected the options of memoryStore to be an object, got null'],
])('a memory store refuses %j', (options, message) => {
  expect(() => memoryStore(options as never)).toThrow(message)
})

it('two limiters on one memory store each hear of evictions, and the end of one leaves the other its counts', async () => {
  const store = memoryStore({ maxBuckets: 1 })
  const heard: string[] = []
  const make = (name: string) => createLimiter({ policies: [burst], store, onEvent: () => heard.push(name) })
  const [one, other] = [make('one'), make('other')]
  await one.consume('a', { cost: 10 })
  await one.consume('b', { cost: 10 })
  expect(heard).toEqual(['one', 'other'])
  await other.close()
  expect((await one.consume('b')).outcome).toBe('refused')
})

it('a memory store full of places that are held refuses to grow, and stays quick about it', async () => {
  const limiter = createLimiter({
    policies: [concurrency({ name: 'running', limit: 1, leaseSeconds: 60 })],
    store: memoryStore({ maxBuckets: 100 }),
    onStoreFailure: 'closed',
  })
  for (let i = 0; i < 100; i += 1) expect((await limiter.consume(`client-${i}`)).outcome).toBe('admitted')
  for (let i = 100; i < 200; i += 1)
    expect((await limiter.consume(`client-${i}`)).outcome).toBe('unavailable')
})
