import {
  createLimiter,
  type LimiterEvent,
  type OnStoreFailure,
  type Op,
  StoreError,
  tokenBucket,
} from '@ratepact/server'
import { testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { farStore, refused } from './store.js'

const burst = tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 0.001 })

function open(onStoreFailure: OnStoreFailure = 'closed', timeoutMs = 50) {
  const clock = testClock()
  const store = farStore(clock, timeoutMs)
  const events: LimiterEvent[] = []
  const limiter = createLimiter({
    policies: [burst],
    store,
    clock,
    onStoreFailure,
    denyCache: false,
    onEvent: (event) => events.push(event),
  })
  const consume = () => clock.runUntil(limiter.consume('a'))
  /** Fails so often, one after another. */
  const fail = async (times: number) => {
    for (let call = 0; call < times; call += 1) expect((await consume()).source).toBe('none')
  }
  return {
    clock,
    store,
    events,
    limiter,
    consume,
    fail,
    breaker: () => events.filter(({ type }) => type === 'breaker'),
  }
}

it('after three failures in a row nobody waits any more', async () => {
  const { clock, store, fail, consume, breaker } = open()
  store.fare('silent')
  await fail(3)
  const waitedMs = clock.now()
  expect(waitedMs).toBeGreaterThanOrEqual(150)
  expect(await consume()).toEqual({
    outcome: 'unavailable',
    allowed: false,
    retryAfterSeconds: 5,
    source: 'none',
    shadow: [],
  })
  expect([clock.now(), store.asked.length]).toEqual([waitedMs, 3])
  expect(breaker()).toMatchObject([{ state: 'open', error: { reason: 'timeout' } }])
})

it('calls that fail together are one failure: a hiccup under load is no outage', async () => {
  const { clock, store, limiter, consume } = open()
  store.fare('silent')
  const calls = Array.from({ length: 100 }, () => limiter.consume('a'))
  expect((await clock.runUntil(Promise.all(calls))).every(({ source }) => source === 'none')).toBe(true)
  store.fare('up')
  expect((await consume()).source).toBe('store')
})

it('an answer in between begins the count anew', async () => {
  const { store, fail, consume } = open()
  for (let round = 0; round < 5; round += 1) {
    store.fare(refused())
    await fail(2)
    store.fare('up')
    expect((await consume()).source).toBe('store')
  }
})

it('one call at a time finds out whether the store is back, and the others do not wait for it', async () => {
  const { clock, store, limiter, fail } = open()
  store.fare('silent')
  await fail(3)
  await clock.advance(100)
  const calls = Array.from({ length: 50 }, () => limiter.consume('a'))
  await Promise.all(calls.slice(1))
  expect(store.asked.length).toBe(4)
  store.fare('up')
  expect((await clock.runUntil(calls[0] as Promise<unknown>)) as object).toMatchObject({
    outcome: 'unavailable',
  })
})

it('asks less and less often, but at least once a second', async () => {
  const { clock, store, fail, consume } = open()
  store.fare(refused())
  await fail(3)
  const at: number[] = []
  for (let asked = store.asked.length; clock.now() < 20_000; await clock.advance(5)) {
    await consume()
    if (store.asked.length > asked) at.push(clock.now())
    asked = store.asked.length
  }
  const pauses = at.map((ms, i) => ms - (at[i - 1] ?? 0))
  expect(pauses.slice(0, 4).every((ms, i) => ms >= 50 * 2 ** i && ms <= 105 * 2 ** i)).toBe(true)
  const later = pauses.slice(4)
  expect(later.length).toBeGreaterThan(15)
  expect(later.every((ms) => ms >= 500 && ms <= 1005)).toBe(true)
  // By chance, so that a fleet does not ask in one instant.
  expect(new Set(later).size).toBeGreaterThan(5)
})

it('is asked by all again from the first answer on', async () => {
  const { clock, store, fail, consume, breaker, events } = open()
  store.fare(refused())
  await fail(3)
  store.fare('up')
  await clock.advance(100)
  expect((await consume()).source).toBe('store')
  expect((await consume()).source).toBe('store')
  expect(breaker().map((event) => 'state' in event && event.state)).toEqual(['open', 'closed'])
  expect(events.at(-1)).toEqual({ type: 'recovered', afterMs: 100 })
})

it('a connection that is there again is a hint: the next call finds out at once', async () => {
  const { clock, store, fail, consume } = open()
  store.fare(refused())
  await fail(3)
  for (let probe = 0; probe < 10; probe += 1) {
    await clock.advance(1000)
    await fail(1)
  }
  store.fare('up')
  expect((await consume()).source).toBe('none')
  store.tell({ type: 'connected' })
  expect((await consume()).source).toBe('store')
})

it('is a hint also while a call is finding out, which may have begun too early', async () => {
  const { clock, store, fail, consume, limiter } = open()
  store.fare('silent')
  await fail(3)
  await clock.advance(1000)
  const early = limiter.consume('a')
  await clock.advance(40)
  store.tell({ type: 'connected' })
  store.fare('up')
  expect((await clock.runUntil(early)).source).toBe('none')
  expect((await consume()).source).toBe('store')
})

it('a call that was under way when the breaker opened closes it by its answer', async () => {
  const { clock, store, limiter, consume, breaker } = open('closed', 1000)
  let answer: (() => void) | undefined
  const run = store.run
  store.run = (ops, deadlineMs) =>
    new Promise((resolve) => {
      answer = () => resolve(run(ops, deadlineMs))
    })
  const slow = limiter.consume('a')
  await Promise.resolve()
  store.run = () => Promise.reject(refused())
  for (let call = 0; call < 3; call += 1) await consume()
  store.run = run
  expect((await consume()).source).toBe('none')
  answer?.()
  expect((await clock.runUntil(slow)).source).toBe('store')
  expect((await consume()).source).toBe('store')
  expect(breaker().length).toBe(2)
})

it('Retry-After is the next question when that is later than 5 s', async () => {
  const { clock, store, fail, consume } = open('closed', 2000)
  store.fare(refused())
  await fail(3)
  for (let probe = 0; probe < 12; probe += 1) {
    await clock.advance(20_000)
    await fail(1)
  }
  const decision = await consume()
  const seconds = 'retryAfterSeconds' in decision ? decision.retryAfterSeconds : undefined
  expect(seconds).toBeGreaterThanOrEqual(10)
  expect(seconds).toBeLessThanOrEqual(20)
})

it('faults of configuration never open it, and neither does a plan that takes too long to be found', async () => {
  const { clock, store, consume, breaker } = open('open')
  store.fare(new StoreError('configuration', 'NOPERM', { code: 'NOPERM' }))
  for (let call = 0; call < 20; call += 1) expect((await consume()).outcome).toBe('unchecked')
  store.fare('up')
  expect((await consume()).source).toBe('store')

  const planned = createLimiter({ plans: { free: [burst] }, store, clock, onStoreFailure: 'open' })
  const never = () => new Promise<'free'>(() => {})
  for (let call = 0; call < 5; call += 1)
    expect((await clock.runUntil(planned.consume('a', { plan: never }))).outcome).toBe('unchecked')
  expect((await clock.runUntil(planned.consume('a', { plan: 'free' }))).source).toBe('store')
  expect(breaker()).toEqual([])
})

it('what is given back meanwhile is not waited for; what is asked for by hand is tried', async () => {
  const { clock, store, limiter, fail, consume } = open()
  const decision = await consume()
  store.fare(refused())
  await fail(3)
  store.fare('up')
  const asked = store.asked.length
  expect(await limiter.refund(decision)).toBe(false)
  expect(store.asked.length).toBe(asked)
  await clock.runUntil(limiter.reset('a'))
  expect(store.asked.length).toBe(asked + 1)
})

it('a store that comes and goes floods nobody with events', async () => {
  const { clock, store, consume, events } = open('open')
  for (let round = 0; round < 1000; round += 1) {
    store.fare(refused())
    await consume()
    store.fare('up')
    await consume()
    await clock.advance(1)
  }
  expect(events.filter(({ type }) => type === 'degraded').length).toBe(5)
  expect(events.filter(({ type }) => type === 'recovered').length).toBe(5)
  await clock.advance(1000)
  store.fare(refused())
  await consume()
  expect(events.at(-1)).toMatchObject({ type: 'degraded' })
})

it('a breaker that opens and closes floods nobody with events', async () => {
  const { clock, store, consume, fail, events, breaker } = open('open')
  for (let round = 0; round < 200; round += 1) {
    store.fare(refused())
    await fail(3)
    store.fare('up')
    store.tell({ type: 'connected' })
    expect((await consume()).source).toBe('store')
    await clock.advance(1)
  }
  const states = breaker().map((event) => event.type === 'breaker' && event.state)
  expect(states).toEqual(Array.from({ length: 5 }, () => ['open', 'closed']).flat())
  expect(events.length).toBe(20)
})

it('a fault of configuration is told once a minute, with the number of calls', async () => {
  const { clock, store, consume, events } = open('open')
  store.fare(new StoreError('configuration', 'no', { code: 'NOPERM', remedy: 'Do this' }))
  for (let second = 0; second <= 120; second += 1) {
    await consume()
    await clock.advance(1000)
  }
  expect(events).toMatchObject([
    { type: 'config-fault', mode: 'open', problem: 'no', remedy: 'Do this', calls: 1 },
    { type: 'config-fault', calls: 60 },
    { type: 'config-fault', calls: 60 },
  ])
})

describe('a store of several places', () => {
  /** One of two places fails; a call is at the place that its partition names. */
  function openPlaces(placeOf: (op: Op) => string | undefined) {
    const clock = testClock()
    const up = farStore(clock)
    const down = farStore(clock)
    down.fare('silent')
    const isDown = (op: Op) => 'charges' in op && op.charges[0]?.owner.value === 'down'
    const events: LimiterEvent[] = []
    const limiter = createLimiter({
      policies: [burst],
      store: { ...up, placeOf, run: (ops, ms) => (ops.some(isDown) ? down : up).run(ops, ms) },
      clock,
      onStoreFailure: 'closed',
      onEvent: (event) => events.push(event),
    })
    const consume = async (partition: string) => (await clock.runUntil(limiter.consume(partition))).source
    return { clock, up, down, events, consume }
  }
  const named = (op: Op) => ('charges' in op ? op.charges[0]?.owner.value : undefined)

  it('goes on being asked where it answers, and is left alone where it does not', async () => {
    const { clock, up, down, events, consume } = openPlaces(named)
    for (let call = 0; call < 3; call += 1) {
      expect(await consume('down')).toBe('none')
      expect(await consume('up')).toBe('store')
    }
    const sinceMs = clock.now()
    expect(await consume('down')).toBe('none')
    expect(await consume('up')).toBe('store')
    expect(clock.now()).toBe(sinceMs)
    expect([down.asked.length, up.asked.length]).toEqual([3, 4])
    const opened = events.findIndex(({ type }) => type === 'breaker')
    expect(events[opened]).toMatchObject({ state: 'open', place: 'down' })
    // What answers elsewhere is no recovery of this.
    expect(events.slice(opened).map(({ type }) => type)).not.toContain('recovered')
    events.length = 0
    down.fare('up')
    up.tell({ type: 'connected' })
    expect(await consume('down')).toBe('store')
    expect(events).toMatchObject([{ type: 'breaker', state: 'closed', place: 'down' }, { type: 'recovered' }])
  })

  it('is left alone as a whole while no place is known, and no longer', async () => {
    let known = false
    const { events, consume } = openPlaces((op) => (known ? named(op) : undefined))
    for (let call = 0; call < 3; call += 1) expect(await consume('down')).toBe('none')
    expect(await consume('up')).toBe('none')
    known = true
    expect(await consume('up')).toBe('store')
    expect(events.filter(({ type }) => type === 'breaker')).toMatchObject([
      { state: 'open' },
      { state: 'closed' },
    ])
  })

  it('has none where it cannot say which', async () => {
    const { consume } = openPlaces(() => {
      throw new Error('no idea')
    })
    for (let call = 0; call < 3; call += 1) expect(await consume('down')).toBe('none')
    expect(await consume('up')).toBe('none')
  })
})
