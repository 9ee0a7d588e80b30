import {
  concurrency,
  createLimiter,
  fixedWindow,
  type OnStoreFailure,
  type Policy,
  type Reply,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { farStore } from './store.js'

const minute = fixedWindow({ name: 'minute', quota: 10, windowSeconds: 60 })
const NOW_US = 1.7e15
const END_US = NOW_US + 3e7

/** A limiter over a store of which something is different. */
function open(
  part: Partial<Store>,
  policies: readonly Policy[] = [minute],
  onStoreFailure: OnStoreFailure = 'closed',
) {
  const clock = testClock()
  const store = { ...farStore(clock), ...part }
  const limiter = createLimiter({ policies, store, clock, onStoreFailure })
  const consume = () => clock.runUntil(limiter.consume('a'))
  return { clock, limiter, consume }
}

describe('what a store of a user answers is believed only where it can be', () => {
  const counter = slidingWindowCounter({ name: 'counter', quota: 10, windowSeconds: 60 })
  const log = slidingWindowLog({ name: 'log', quota: 10, windowSeconds: 60 })
  const bucket = tokenBucket({ name: 'bucket', capacity: 10, refillPerSecond: 1 })
  const places = concurrency({ name: 'places', limit: 10, leaseSeconds: 60 })
  const whole: Reply = {
    nowUs: NOW_US,
    admitted: true,
    blockedUs: 0,
    replayed: false,
    readings: [[0, END_US]],
    healed: [],
  }

  it.each<[string, Policy, Reply['readings'][number]]>([
    ['a window', minute, [0, END_US]],
    ['a counter', counter, [0, 0, NOW_US, 0]],
    ['a log', log, [0, NOW_US, NOW_US, NOW_US]],
    ['a bucket', bucket, [0]],
    ['places', places, [0]],
  ])('of %s', async (_, policy, reading) => {
    const answered = async (readings: Reply['readings']) =>
      (await open({ run: () => [{ ...whole, readings }] }, [policy]).consume()).source
    expect(await answered([reading])).toBe('store')
    const [first = 0, ...rest] = reading
    const wrong = [
      reading.slice(1),
      [first - 1, ...rest],
      [0.5, ...rest],
      [1e300, ...rest],
      [Number.NaN, ...rest],
    ]
    if (reading.length > 2) wrong.push(reading.with(2, String(reading[2]) as never))
    for (const bad of [...wrong, []]) expect([bad, await answered([bad])]).toEqual([bad, 'none'])
  })

  it.each<[string, object]>([
    ['a time before all time', { nowUs: -1 }],
    ['a time after all time', { nowUs: 1e300 }],
    ['a part of a microsecond', { nowUs: NOW_US / 3 + 0.5 }],
    ['a number of processes below none', { instances: [-5] }],
    ['an instant that is none', { instants: ['now'] }],
    ['a position that is none', { healed: [null] }],
  ])('not %s', async (_, wrong) => {
    expect((await open({ run: () => [{ ...whole, ...wrong } as Reply] }).consume()).source).toBe('none')
  })

  it('nor findings that are none', async () => {
    for (const answer of [undefined, 'all is well']) {
      const { limiter } = open({ check: async () => answer as never })
      expect(await limiter.check()).toMatchObject([{ code: 'unreachable', severity: 'error' }])
    }
  })
})

it('a call is decided by its mode although the store throws when it is to take it back', async () => {
  const { consume } = open({
    run: () => new Promise(() => {}),
    withdraw() {
      throw new Error('broken')
    },
  })
  expect((await consume()).outcome).toBe('unavailable')
})

describe('a limiter is closed', () => {
  const fault = new Error('broken')
  it.each<[string, () => unknown, unknown]>([
    ['gives nothing', () => {}, undefined],
    [
      'throws',
      () => {
        throw fault
      },
      fault,
    ],
    ['rejects', () => Promise.reject(fault), fault],
  ])('by a store whose close %s', async (_, close, told) => {
    const { limiter } = open({ close: close as Store['close'] })
    const ending = limiter.close()
    expect(limiter.close()).toBe(ending)
    expect(await ending.catch((error) => error)).toBe(told)
    await expect(limiter.consume('a')).rejects.toThrow('This limiter is closed')
  })
})

it('a number of instances that is promised, in vain, harms nobody', async () => {
  const instances = (async () => Promise.reject(new Error('no idea'))) as unknown as () => number
  const { consume } = open({ run: () => Promise.reject(new Error('gone')) }, [minute], {
    local: { instances },
  })
  expect((await consume()).source).toBe('local')
})
