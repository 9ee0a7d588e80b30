import { describe, expect, it } from 'vitest'
import { hand } from './hand.js'

const bucket = { q: 10, w: 1, refill: 'bucket' } as const

describe('after a refusal', () => {
  it('nothing goes before the stated wait is over, and then one call until it is accepted', () => {
    const at = hand({ random: () => 0 })
    at.accept(at.send(), { r: 9, t: 1, ...bucket })
    const flights = at.sendAll(5)
    for (const flight of flights) at.refuse(flight, { retryAfterMs: 2000 }, { r: 0, t: 2, ...bucket })
    expect(at.waitMs()).toBe(2000)
    at.nowMs = 1999
    expect(at.waitMs()).toBeGreaterThan(0)
    at.nowMs = 2000
    const [probe] = at.sendAll(5)
    expect(at.sendAll(5)).toEqual([])
    if (probe !== undefined) at.accept(probe, { r: 6, t: 1, ...bucket })
    // Somebody else had taken what was stated: so calls follow at a share of the rate, not all at once.
    expect(at.waitMs()).toBeLessThan(1000)
  })

  it('a lost probe is followed by another', () => {
    const at = hand()
    at.refuse(at.send(), { retryAfterMs: 1000 })
    at.nowMs = 1000
    at.pace.lost(at.send())
    expect(at.waitMs()).toBe(0)
  })

  it('a probe that hangs is waited for five seconds, then one more goes', () => {
    const at = hand()
    at.refuse(at.send(), { retryAfterMs: 1000 })
    at.nowMs = 1000
    at.send()
    expect(at.waitMs()).toBe(5000)
    at.nowMs = 6000
    expect(at.sendAll(9)).toHaveLength(1)
  })

  it('the answer of a call sent before it opens nothing', () => {
    const at = hand()
    at.accept(at.send())
    const [early, refused] = at.sendAll(2)
    if (refused !== undefined) at.refuse(refused, { retryAfterMs: 1000 })
    if (early !== undefined) at.accept(early)
    at.nowMs = 1000
    expect(at.sendAll(3)).toHaveLength(1)
  })

  it('a burst refused at once counts as one refusal, and the longest wait of it holds', () => {
    const at = hand()
    at.accept(at.send())
    const flights = at.sendAll(10)
    for (const [index, flight] of flights.entries())
      at.refuse(flight, { retryAfterMs: index === 3 ? 4000 : 1000 })
    expect(at.waitMs()).toBe(4000)
  })

  it('without any hint the siblings wait too, longer after each refusal, and never longer than 30 seconds', () => {
    const at = hand()
    const gaps: number[] = []
    for (let refusal = 0; refusal < 9; refusal += 1) {
      at.refuse(at.send(), {})
      gaps.push(at.waitMs())
      at.nowMs += at.waitMs()
    }
    expect(gaps).toEqual([750, 1500, 3000, 6000, 12_000, 22_500, 22_500, 22_500, 22_500])
  })

  it('every gap is longer than the one before, whatever chance says', () => {
    const luck = [0.999, 0, 0.999, 0]
    const at = hand({ random: () => luck.shift() ?? 0 })
    const gaps: number[] = []
    for (let refusal = 0; refusal < 4; refusal += 1) {
      at.refuse(at.send(), {})
      gaps.push(at.waitMs())
      at.nowMs += at.waitMs()
    }
    expect(gaps[1]).toBeGreaterThanOrEqual(gaps[0] ?? 0)
    expect(gaps[3]).toBeGreaterThan(gaps[2] ?? 0)
  })

  it('a wait of zero still holds, growing from a quarter of a second, until an acceptance ends the row', () => {
    const at = hand()
    const gaps: number[] = []
    for (let refusal = 0; refusal < 3; refusal += 1) {
      at.refuse(at.send(), { retryAfterMs: 0 })
      gaps.push(at.waitMs())
      at.nowMs += at.waitMs()
    }
    expect(gaps).toEqual([187.5, 375, 750])
    at.accept(at.send())
    at.refuse(at.send(), { retryAfterMs: 0 })
    expect(at.waitMs()).toBe(187.5)
  })

  it('a wait beyond the cap is believed up to the cap, then one call asks', () => {
    const at = hand({ maxBlockMs: 5000 })
    at.refuse(at.send(), { retryAfterMs: 3e12 })
    expect(at.waitMs()).toBe(5000)
    at.nowMs = 5000
    expect(at.sendAll(9)).toHaveLength(1)
  })

  it('an accepted answer with a refusal elsewhere in the past holds nothing back for good', () => {
    const at = hand()
    at.refuse(at.send(), { retryAfterMs: 1000 })
    at.nowMs = 1000
    at.accept(at.send())
    let sent = 0
    for (let round = 0; round < 7; round += 1) {
      const flights = at.sendAll(50)
      sent += flights.length
      at.nowMs += 60
      for (const flight of flights) at.accept(flight)
    }
    expect(sent).toBeGreaterThan(100)
    expect(at.sendAll(50)).toHaveLength(50)
  })
})

describe('a Retry-After on a refusal', () => {
  const minute = { r: 0, t: 40, q: 10, w: 60 } as const

  it.each([
    { refill: undefined, what: 'that says nothing of how it refills' },
    { refill: 'bucket', what: 'bucket' },
    { refill: 'window', what: 'window' },
    { refill: 'log', what: 'sliding log' },
  ] as const)(
    'overrides the longer t of a limit $what: one call asks, and its answer counts',
    ({ refill }) => {
      const stated = refill === undefined ? minute : { ...minute, refill }
      const at = hand({ random: () => 0 })
      at.refuse(at.send(), { retryAfterMs: 2000 }, stated)
      expect(at.waitMs()).toBe(2000)
      expect(at.pace.limits()[0]?.waitSeconds).toBe(2)
      at.nowMs = 2000
      const [probe, ...others] = at.sendAll(9)
      expect(others).toEqual([])
      at.nowMs = 2050
      if (probe !== undefined) at.accept(probe, { ...stated, r: 5 })
      expect(at.waitMs()).toBeLessThan(15_000)
    },
  )

  it('overrides a shorter t too', () => {
    const at = hand({ random: () => 0 })
    at.refuse(at.send(), { retryAfterMs: 9000 }, { ...minute, t: 3 })
    expect(at.waitMs()).toBe(9000)
  })

  it('leaves what the answer to the next call states', () => {
    const at = hand({ random: () => 0 })
    at.refuse(at.send(), { retryAfterMs: 2000 }, minute)
    at.nowMs = 2000
    const probe = at.send()
    at.nowMs = 2050
    at.accept(probe, { ...minute, t: 37 })
    expect(at.waitMs()).toBeGreaterThan(36_000)
  })

  it('overrides the t of a limit in other units, and that of no limit that did not refuse', () => {
    const bytes = { name: 'bytes', r: 0, t: 40, q: 10, w: 60, unit: 'content-bytes' }
    const at = hand({ random: () => 0 })
    at.refuse(at.send(), { retryAfterMs: 2000 }, bytes)
    expect(at.waitMs()).toBe(2000)
    const two = hand({ random: () => 0 })
    two.accept(two.send(), { ...bytes, t: 30 })
    two.refuse(two.send(), { retryAfterMs: 2000 }, minute)
    expect(two.waitMs()).toBe(30_000)
  })

  it('as long as the whole window of a policy that states no time, a lone client asks when it is over', () => {
    for (const chance of [0, 0.5, 0.9]) {
      const at = hand({ random: () => chance })
      at.refuse(at.send(), { retryAfterMs: 60_000 }, { r: 0, q: 5, w: 60 })
      at.nowMs = at.waitMs()
      expect([chance, at.nowMs, at.waitMs()]).toEqual([chance, 60_000 + 2000 * chance, 0])
    }
  })

  it('does not shorten the window of a limit that is exhausted and states no time', () => {
    const at = hand({ random: () => 0 })
    at.refuse(at.send(), { retryAfterMs: 700 }, { r: 0, q: 10, w: 60 })
    expect(at.waitMs()).toBeGreaterThan(59_000)
  })
})

describe('a refusal holds', () => {
  const minute = { name: 'minute', q: 100, w: 60, refill: 'bucket' } as const
  const second = { name: 'second', q: 10, w: 1, refill: 'bucket' } as const

  it('only routes under the policy that it states', () => {
    const at = hand({ random: () => 0 })
    at.accept(at.send('GET /a'), { r: 9, t: 1, ...second })
    at.accept(at.send('GET /b'), { r: 99, t: 60, ...minute })
    at.refuse(at.send('GET /a'), { retryAfterMs: 9000 }, { r: 9, t: 1, ...second })
    expect(at.waitMs('GET /a')).toBe(9000)
    expect(at.waitMs('GET /b')).toBe(0)
  })

  it('the exhausted limits of the answer where none is named, for as long as they state if there is no Retry-After', () => {
    const at = hand({ random: () => 0 })
    at.accept(at.send('GET /b'), { r: 99, t: 60, ...minute })
    at.accept(at.send('GET /a'), { r: 9, t: 1, ...second }, { r: 98, t: 60, ...minute })
    at.refuse(at.send('GET /a'), {}, { r: 0, t: 7, ...second }, { r: 98, t: 60, ...minute })
    expect(at.waitMs('GET /a')).toBe(7000)
    expect(at.waitMs('GET /b')).toBe(0)
  })

  it('the limits last seen on the route where the answer states none, and with them other routes they hold', () => {
    const at = hand({ random: () => 0 })
    at.accept(at.send('GET /a'), { r: 9, t: 1, ...second })
    at.accept(at.send('GET /b'), { r: 8, t: 1, ...second })
    at.accept(at.send('GET /c'), { r: 99, t: 60, ...minute })
    at.refuse(at.send('GET /a'), { retryAfterMs: 3000 })
    expect(at.waitMs('GET /a')).toBe(3000)
    expect(at.waitMs('GET /b')).toBe(3000)
    expect(at.waitMs('GET /c')).toBe(0)
  })

  it('everything where nothing is known', () => {
    const at = hand({ random: () => 0 })
    at.accept(at.send('GET /a'))
    at.refuse(at.send('GET /a'), { retryAfterMs: 3000 })
    expect(at.waitMs('GET /b')).toBe(3000)
  })

  it('a route by the limits of the layer that refused it, too, until an accepted answer says better', () => {
    const at = hand({ random: () => 0 })
    const edge = { name: 'edge', q: 5, w: 1, refill: 'bucket' } as const
    at.accept(at.send('GET /a'), { r: 9, t: 1, ...second })
    at.refuse(at.send('GET /a'), { retryAfterMs: 1000 }, { r: 0, t: 1, ...edge })
    expect(
      at.pace
        .limits('GET /a')
        .map((limit) => limit.policy)
        .sort(),
    ).toEqual(['edge', 'second'])
    at.nowMs = 1000
    at.accept(at.send('GET /a'), { r: 9, t: 1, ...second })
    expect(at.pace.limits('GET /a').map((limit) => limit.policy)).toEqual(['second'])
  })
})
