import { describe, expect, it } from 'vitest'
import { bounds, Level, needed } from '../../../packages/client/src/pace/level.js'
import { quotaOf, unstated } from '../../../packages/client/src/pace/quota.js'

const perMs = 0.01
const quota = quotaOf({ policy: 'api', quota: 10, unit: 'requests', windowSeconds: 1 })

describe('a level', () => {
  it.each([
    { start: 0, afterMs: 250, units: 2.5 },
    { start: 9, afterMs: 1000, units: 10 },
    { start: -3, afterMs: 100, units: -2 },
  ])('of $start is $units after $afterMs ms of refilling', ({ start, afterMs, units }) => {
    const level = new Level(start, 0)
    level.refill(afterMs, 10, perMs, 0)
    expect(level.units).toBeCloseTo(units, 9)
  })

  it('does not refill while time merely passes, and never goes back in time', () => {
    const level = new Level(4, 1000)
    level.pass(5000)
    level.refill(2000, 10, perMs, 0)
    level.refill(5100, 10, perMs, 0)
    expect(level.units).toBeCloseTo(5, 9)
  })

  it('of a full bucket gains nothing until a call that may be late has landed', () => {
    const level = new Level(1, 0)
    level.spend(1, 0)
    level.refill(30, 1, perMs, 30)
    expect(level.units).toBeCloseTo(0, 9)
    level.refill(80, 1, perMs, 30)
    expect(level.units).toBeCloseTo(0.5, 9)
  })

  it('gains again as soon as the call is known to have landed', () => {
    const level = new Level(1, 0)
    level.landed(level.spend(1, 0))
    level.refill(30, 1, perMs, 1000)
    expect(level.units).toBeCloseTo(0.3, 9)
  })

  it('of a bucket in use is not held back by late calls', () => {
    const level = new Level(2, 0)
    level.spend(1, 0)
    level.refill(30, 10, perMs, 30)
    expect(level.units).toBeCloseTo(1.3, 9)
  })

  it('comes down when calls turn out to land later than was thought', () => {
    const level = new Level(10, 0)
    for (let call = 0; call < 8; call += 1) level.spend(1, 0)
    level.refill(300, 10, perMs, 20)
    expect(level.units).toBeCloseTo(4.8, 9)
    level.refill(301, 10, perMs, 400)
    expect(level.units).toBeCloseTo(2, 9)
  })
})

describe('the bounds that an answer sets', () => {
  const seen = { available: 5, returnedAtMost: 0, returnedAtLeast: 0, after: 0, perhapsLater: 0, unstated: 0 }
  it.each([
    { why: 'alone', change: {}, most: 5, least: 5 },
    { why: 'with later calls', change: { after: 2, perhapsLater: 3 }, most: 3, least: 2 },
    { why: 'with returns since', change: { returnedAtMost: 2, returnedAtLeast: 1 }, most: 7, least: 6 },
    { why: 'rounded down', change: { unstated: 0.999 }, most: 5.999, least: 5 },
    {
      why: 'at the top',
      change: { available: 10, returnedAtMost: 1, returnedAtLeast: 1 },
      most: 11,
      least: 10,
    },
  ])('$why are $most and $least', ({ change, most, least }) => {
    expect(bounds({ ...seen, ...change }, 10)).toEqual({ most, least })
  })
})

describe('what a call needs to find', () => {
  it.each([
    { cost: 1, units: 5, queued: 1, jitterMs: 0, need: 1 },
    { cost: 1, units: 5, queued: 1, jitterMs: 20, need: 1.2 },
    { cost: 1, units: 5, queued: 1, jitterMs: 900, need: 2 },
    { cost: 1, units: 5, queued: 50, jitterMs: 0, need: 3 },
    { cost: 1, units: 0, queued: 1, jitterMs: 0, need: 1 },
    { cost: 1, units: 0.5, queued: 2, jitterMs: 0, need: 2 },
    { cost: 4, units: 5, queued: 1, jitterMs: 0, need: 4 },
    { cost: 50, units: 5, queued: 1, jitterMs: 20, need: 10 },
  ])(
    'is $need for a cost of $cost with $queued queued and $units there',
    ({ cost, units, queued, jitterMs, need }) => {
      expect(needed(cost, units, quota, queued, jitterMs)).toBeCloseTo(need, 9)
    },
  )
})

describe('a policy', () => {
  it.each([
    {
      policy: { quota: 20, windowSeconds: 1, ratePerSecond: 50 },
      units: 20,
      windowMs: 1000,
      ratePerMs: 0.05,
    },
    { policy: { quota: 100, windowSeconds: 60 }, units: 100, windowMs: 60_000, ratePerMs: 100 / 60_000 },
    { policy: { quota: 5 }, ...unstated, units: 5 },
    { policy: { quota: 5, windowSeconds: Number.NaN, ratePerSecond: Number.NaN }, ...unstated, units: 5 },
    { policy: { quota: Number.NaN, windowSeconds: 1 }, ...unstated, windowMs: 1000 },
    { policy: { quota: 5, windowSeconds: 1, ratePerSecond: -1 }, units: 5, windowMs: 1000, ratePerMs: 0.005 },
  ])(
    'of $policy promises $units units, $ratePerMs a millisecond',
    ({ policy, units, windowMs, ratePerMs }) => {
      expect(quotaOf({ policy: 'api', unit: 'requests', ...policy })).toEqual({ units, windowMs, ratePerMs })
    },
  )
})
