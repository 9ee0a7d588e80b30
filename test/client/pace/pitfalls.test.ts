import { describe, expect, it } from 'vitest'
import { Guess } from '../../../packages/client/src/pace/guess.js'
import { OwnCalls } from '../../../packages/client/src/pace/own-calls.js'
import type { Flight } from '../../../packages/client/src/pace/pace.js'
import { quotaOf } from '../../../packages/client/src/pace/quota.js'
import type { Evidence } from '../../../packages/client/src/pace/votes.js'
import { type Hand, hand, type Stated } from './hand.js'
import { play } from './simulator/run.js'
import { bucket, fixed, log } from './simulator/servers.js'

const window = { q: 10, w: 1, refill: 'window' } as const
const rtt = 50
const silent: Evidence = {
  atMs: 0,
  available: 3,
  taken: 1,
  sentBetween: 0,
  outstanding: 0,
  maybe: 0,
  endMs: Number.POSITIVE_INFINITY,
  jitterMs: 5,
}

/** Lets three round trips pass on a limit of their own, so that delays are known to be steady. */
function steady(at: Hand, stated: Stated): void {
  for (let call = 0; call < 8; call += 1) {
    const flight = at.send()
    at.nowMs += rtt
    at.accept(flight, { ...stated, r: (stated.q ?? 10) - 1 - call })
  }
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, index) =>
    permutations(items.filter((_, at) => at !== index)).map((rest) => [item, ...rest]),
  )
}

describe('what a window says of its end', () => {
  it('lets one call ask when t is over, never the whole quota', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 1, tMs: 800, ...window })
    at.nowMs = 802
    expect(at.sendAll(10)).toHaveLength(1)
    expect(at.waitMs()).toBeGreaterThan(0)
  })

  it('is not the time to the next unit that a bucket states: a plain bucket of a minute is used at its rate', () => {
    const outcome = play({ server: () => bucket(100, 60_000), calls: 200, rttMs: 60, seed: 4 })
    expect(outcome.refused).toBe(0)
    expect(outcome.ratio).toBeLessThan(1.01)
  })
})

describe('an exhausted bucket', () => {
  it('is asked again when its next unit is due, not when whole seconds of t are over', () => {
    const at = hand()
    const probe = at.send()
    at.nowMs = rtt
    at.accept(probe, { r: 0, t: 1, q: 10, w: 1, refill: 'bucket' })
    expect(at.waitMs()).toBeLessThan(130)
    expect(at.waitMs()).toBeGreaterThan(50)
  })

  it('is waited for as stated while it is not known to be a bucket', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 3, q: 10, w: 5 })
    expect(at.waitMs()).toBeGreaterThan(2900)
  })
})

describe('a rolling window', () => {
  it('gives each unit back once: its stated end and the return of the own call are the same event', () => {
    const at = hand()
    const first = at.send()
    at.nowMs = rtt
    at.accept(first, { r: 9, tMs: 950, t: 1, q: 10, w: 1, refill: 'log' })
    for (let call = 0; call < 9; call += 1) {
      const flight = at.send()
      at.nowMs += 5
      at.accept(flight, { r: 8 - call, tMs: 940, t: 1, q: 10, w: 1, refill: 'log' })
    }
    at.nowMs = 1010
    expect(at.sendAll(10).length).toBeLessThanOrEqual(1)
  })

  it('is never refused once per window on a steady network', () => {
    const outcome = play({
      server: () => log(10, 1000),
      calls: 200,
      rttMs: 60,
      jitter: 0,
      strays: 0,
      hints: true,
      seed: 1,
    })
    expect(outcome.refused).toBe(0)
  })
})

describe('answers of a burst sent in one instant', () => {
  it.each(['bucket', 'window'] as const)(
    'come to the same level in whatever order they arrive (%s)',
    (refill) => {
      for (const order of permutations([0, 1, 2, 3])) {
        const at = hand()
        steady(at, { q: 100, w: 1000, refill })
        const flights = [0, 1, 2, 3].map(() => at.send())
        at.nowMs += rtt
        for (const place of order) {
          const flight = flights[place]
          if (flight !== undefined) at.accept(flight, { r: 91 - place, t: 900, q: 100, w: 1000, refill })
          const left = at.pace.limits()[0]?.available
          expect(left).toBe(88)
        }
      }
    },
  )

  it('do not raise the level by a call that was overtaken and not yet counted', () => {
    const at = hand()
    steady(at, { q: 100, w: 1000, refill: 'window' })
    const slow = at.send()
    at.nowMs += 20
    const quick = at.send()
    at.nowMs += rtt
    at.accept(quick, { r: 91, t: 900, q: 100, w: 1000, refill: 'window' })
    expect(at.pace.limits()[0]?.available).toBe(90)
    at.accept(slow, { r: 90, t: 900, q: 100, w: 1000, refill: 'window' })
    expect(at.pace.limits()[0]?.available).toBe(90)
  })
})

describe('a call that was long on its way', () => {
  it('because it waited for a connection, comes back a window after it arrived, not after it was sent', () => {
    const at = hand()
    const stated = { t: 2, q: 3, w: 2 }
    const first = at.send()
    at.nowMs = 300
    at.accept(first, { ...stated, r: 2 })
    const others = [at.send(), at.send()]
    at.nowMs += 15
    for (const [index, flight] of others.entries()) at.accept(flight, { ...stated, r: 1 - index })
    // It arrived 15 ms before its answer, at the earliest.
    expect(at.nowMs + at.waitMs()).toBeGreaterThanOrEqual(285 + 2000)
  })
})

describe('a window that began anew', () => {
  it('is spent once: own calls of the window before return no more', () => {
    const at = hand()
    steady(at, window)
    const late = [at.send(), at.send()]
    at.nowMs += rtt
    for (const [index, flight] of late.entries())
      at.accept(flight, { ...window, r: 1 - index, t: 1, tMs: 30 })
    at.nowMs += 35
    const spend = (flight: Flight, r: number) => at.accept(flight, { ...window, r, t: 1, tMs: 900 })
    const probe = at.send()
    at.nowMs += rtt
    spend(probe, 9)
    const rest = at.sendAll(9)
    expect(rest).toHaveLength(9)
    at.nowMs += rtt
    for (const [index, flight] of rest.entries()) spend(flight, 8 - index)
    at.nowMs += 700
    expect(at.waitMs()).toBeGreaterThan(0)
    expect(at.pace.limits()[0]?.available).toBe(0)
  })

  it('is not refused for it in the long run', () => {
    const outcome = play({
      server: () => fixed(10, 1000, 300),
      calls: 200,
      rttMs: 60,
      jitter: 0,
      strays: 0,
      hints: true,
      seed: 1,
    })
    expect(outcome.refused).toBe(0)
  })
})

describe('a refused call', () => {
  it('leaves no trace in the level: neither as used nor as given back a window later', () => {
    const at = hand()
    const other = { name: 'other', q: 50, w: 1, refill: 'window' } as const
    at.accept(at.send(), { ...window, r: 9, t: 1 }, { ...other, r: 49, t: 1 })
    const before = at.pace.limits().map((limit) => limit.available)
    at.refuse(at.send(), { retryAfterMs: 10 }, { ...window, r: 9, t: 1 }, { ...other, r: 49, t: 1 })
    expect(at.pace.limits().map((limit) => limit.available)).toEqual(before)
    at.nowMs = 400
    for (const flight of at.sendAll(9)) at.accept(flight)
    at.nowMs = 1012
    expect(at.pace.limits()[0]?.available).toBe(9)
  })
})

describe('a limit of unknown kind that refuses what should have come back', () => {
  it('is asked with one call a window later, not with all that were sent a window before', () => {
    const at = hand()
    const spend = (flights: readonly Flight[]) => {
      for (const [index, flight] of flights.entries()) at.accept(flight, { r: 3 - index, t: 60, q: 4, w: 60 })
    }
    spend([at.send()])
    spend(at.sendAll(3))
    at.nowMs = 60_200
    for (let refusal = 0; refusal < 3; refusal += 1) {
      at.refuse(at.send(), { retryAfterMs: 1000 }, { r: 0, t: 1, q: 4, w: 60 })
      at.nowMs += 1100
    }
    for (let call = 0; call < 4; call += 1) {
      at.nowMs += at.waitMs()
      at.accept(at.send(), { r: 3 - call, t: 60, q: 4, w: 60 })
    }
    at.nowMs += 61_000
    expect(at.sendAll(4)).toHaveLength(1)
  })
})

describe('a quota so small that a pause brings all of it back, however it refills', () => {
  it.each([
    { server: 'bucket', quota: 1 },
    { server: 'bucket', quota: 2 },
    { server: 'window', quota: 1 },
    { server: 'window', quota: 2 },
  ])('is used at its rate without hints: a $server of $quota in a second', ({ server, quota }) => {
    const make = () => (server === 'bucket' ? bucket(quota, 1000) : fixed(quota, 1000))
    for (let seed = 1; seed <= 5; seed += 1) {
      const outcome = play({ server: make, calls: 30 * quota, rttMs: 60, seed })
      expect(outcome.makespanMs).toBeLessThan(33_000)
      expect(outcome.refused).toBeLessThanOrEqual(3)
    }
  })

  it('is not spent twice, at the stated end and when own calls return, on a bucket that is slow', () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const outcome = play({ server: () => bucket(2, 6000), calls: 20, rttMs: 60, seed })
      expect(outcome.refused).toBe(0)
      expect(outcome.ratio).toBeLessThan(1.1)
    }
  })

  it('is not tested for ever where it is larger, but tells nothing', () => {
    const quota = quotaOf({ policy: 'api', quota: 10, unit: 'requests', windowSeconds: 1 })
    const guess = new Guess()
    const pauses: number[] = []
    for (let time = 0; time < 9; time += 1) {
      pauses.push(guess.pauseMs(1, quota, 0))
      const call = new OwnCalls().book(time, 1)
      guess.paused(call)
      guess.weigh(call, { ...silent, atMs: time }, quota, false, false, false)
    }
    expect(pauses[0]).toBeGreaterThan(0)
    expect(pauses[8]).toBe(0)
  })
})

describe('a call that costs nothing', () => {
  it('is not held by the test of how a limit refills, and does not put it off', () => {
    const at = hand()
    at.accept(at.send(), { r: 1, t: 1, q: 4, w: 4 })
    const held = at.waitMs('GET /', 1, 9)
    expect(held).toBeGreaterThan(2000)
    expect(at.waitMs('GET /', 0, 9)).toBe(0)
    at.nowMs += 1000
    at.accept(at.send('GET /', 0), { r: 1, t: 1, q: 4, w: 4 })
    expect(at.waitMs('GET /', 1, 9)).toBeLessThanOrEqual(held - 1000)
  })

  it('goes where nothing is left, too', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 9, q: 4, w: 9, refill: 'window' })
    expect(at.waitMs('GET /', 0, 9)).toBe(0)
  })
})
