import { describe, expect, it } from 'vitest'
import { Level, needed } from '../../../packages/client/src/pace/level.js'
import { type OwnCall, OwnCalls } from '../../../packages/client/src/pace/own-calls.js'
import { quotaOf, unstated } from '../../../packages/client/src/pace/quota.js'

const perMs = 0.01
const quota = quotaOf({ policy: 'api', quota: 10, unit: 'requests', windowSeconds: 1 })

/** A level of a bucket of 10 in a second, and the calls that it is told of. */
function levelOf(units: number, quotaUnits = 10) {
  const level = new Level(units, 0)
  const own = new OwnCalls()
  const about = { units: quotaUnits, windowMs: 1000, ratePerMs: perMs }
  return {
    level,
    send: (atMs: number) => {
      level.units -= 1
      return own.book(atMs, 1)
    },
    landed: (call: OwnCall) => own.settled(call, 1, 0, 0),
    refill: (nowMs: number, lateMs: number) =>
      level.refill(nowMs, about, lateMs, own.flying, own.flyingUnits),
  }
}

describe('a level', () => {
  it.each([
    { start: 0, afterMs: 250, units: 2.5 },
    { start: 9, afterMs: 1000, units: 10 },
    { start: -3, afterMs: 100, units: -2 },
  ])('of $start is $units after $afterMs ms of refilling', ({ start, afterMs, units }) => {
    const { level, refill } = levelOf(start)
    refill(afterMs, 0)
    expect(level.units).toBeCloseTo(units, 9)
  })

  it('does not refill while time merely passes, and never goes back in time', () => {
    const { level, refill } = levelOf(4)
    level.pass(5000)
    refill(2000, 0)
    refill(5100, 0)
    expect(level.units).toBeCloseTo(5, 9)
  })

  it('of a full bucket gains nothing until a call that may be late has landed', () => {
    const { level, send, refill } = levelOf(1, 1)
    send(0)
    refill(30, 30)
    expect(level.units).toBeCloseTo(0, 9)
    refill(80, 30)
    expect(level.units).toBeCloseTo(0.5, 9)
  })

  it('gains again as soon as the call is known to have landed', () => {
    const { level, send, landed, refill } = levelOf(1, 1)
    landed(send(0))
    refill(30, 1000)
    expect(level.units).toBeCloseTo(0.3, 9)
  })

  it('of a bucket in use is not held back by late calls', () => {
    const { level, send, refill } = levelOf(2)
    send(0)
    refill(30, 30)
    expect(level.units).toBeCloseTo(1.3, 9)
  })

  it('comes down when calls turn out to land later than was thought', () => {
    const { level, send, refill } = levelOf(10)
    for (let call = 0; call < 8; call += 1) send(0)
    refill(300, 20)
    expect(level.units).toBeCloseTo(4.8, 9)
    refill(301, 400)
    expect(level.units).toBeCloseTo(2, 9)
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
