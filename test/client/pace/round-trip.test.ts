import { describe, expect, it } from 'vitest'
import { RoundTrip } from '../../../packages/client/src/pace/round-trip.js'

function having(...roundTripsMs: readonly number[]): RoundTrip {
  const roundTrip = new RoundTrip()
  for (const ms of roundTripsMs) roundTrip.note(ms, true)
  return roundTrip
}

describe('round trips', () => {
  it.each([
    { seen: [], leastMs: 0, jitterMs: 10 },
    { seen: [60], leastMs: 60, jitterMs: 15 },
    { seen: [2, 2], leastMs: 2, jitterMs: 10 },
    { seen: [50, 60, 70], leastMs: 50, jitterMs: 12.5 },
    { seen: [50, 60, 90], leastMs: 50, jitterMs: 20 },
    { seen: [50, 50, 900], leastMs: 50, jitterMs: 25 },
    { seen: Array(8).fill(40), leastMs: 40, jitterMs: 0 },
    { seen: [Number.NaN, -3], leastMs: 0, jitterMs: 10 },
  ])(
    'of $seen come to a least of $leastMs ms and a jitter of $jitterMs ms',
    ({ seen, leastMs, jitterMs }) => {
      expect(having(...seen)).toMatchObject({ leastMs, jitterMs })
    },
  )

  it('of calls that had to be connected say how far others may lie apart, but not how short one is', () => {
    const roundTrip = new RoundTrip()
    roundTrip.note(300, false)
    roundTrip.note(290, false)
    expect(roundTrip).toMatchObject({ leastMs: 0, connections: 2, jitterMs: 72.5 })
    roundTrip.note(20, true)
    expect(roundTrip).toMatchObject({ leastMs: 20, connections: 2 })
    roundTrip.note(10, false)
    expect(roundTrip).toMatchObject({ leastMs: 10, connections: 3 })
  })

  it('forget a disturbance after thirty-two calm ones, but not the least', () => {
    const calm = Array(32).fill(50)
    expect(having(40, 200, 200, 200, ...calm)).toMatchObject({ leastMs: 40, jitterMs: 5 })
  })

  it('take no notice of one stray in thirty-two', () => {
    expect(having(...Array(31).fill(50), 400).jitterMs).toBe(0)
  })
})
