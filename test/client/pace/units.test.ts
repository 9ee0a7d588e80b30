import { describe, expect, it } from 'vitest'
import { hand } from './hand.js'

const bucket = { q: 10, w: 1, refill: 'bucket' } as const

describe('cost', () => {
  it('is taken off whole, and a dear call waits for all of it', () => {
    const at = hand()
    at.accept(at.send(), { r: 9, t: 1, ...bucket })
    at.send('GET /', 7)
    expect(at.waitMs('GET /', 1)).toBe(0)
    expect(at.waitMs('GET /', 5)).toBeGreaterThan(250)
  })

  it('above the quota goes when the quota is whole, and never hangs', () => {
    const at = hand()
    at.accept(at.send(), { r: 9, t: 1, ...bucket })
    const wait = at.waitMs('GET /', 50)
    expect(wait).toBeGreaterThan(0)
    at.nowMs = 1000
    expect(at.waitMs('GET /', 50)).toBe(0)
  })

  it('of zero goes whatever is left, but not through a block', () => {
    const at = hand({ random: () => 0 })
    at.accept(at.send(), { r: 0, t: 1, ...bucket })
    expect(at.waitMs('GET /', 0)).toBe(0)
    at.refuse(at.send('GET /', 0), { retryAfterMs: 1000 }, { r: 0, t: 1, ...bucket })
    expect(at.waitMs('GET /', 0)).toBe(1000)
  })

  it('as the answer states it corrects what was booked', () => {
    const at = hand()
    at.accept(at.send(), { r: 9, t: 60, q: 10, w: 60, refill: 'window' })
    const cheap = at.send('GET /', 5)
    at.accept(cheap, { r: 8, t: 60, q: 10, w: 60, refill: 'window', c: 1 })
    expect(at.pace.limits()[0]?.available).toBe(8)
  })

  it('that is no number counts as one', () => {
    const at = hand()
    at.accept(at.send(), { r: 9, t: 1, ...bucket })
    expect(at.waitMs('GET /', Number.NaN)).toBe(0)
    at.send('GET /', Number.NaN)
    at.send('GET /', -4)
    expect(at.pace.limits()[0]?.available).toBe(7)
  })

  it('above what an answer leaves waits for as long as the answer says, and then one call asks', () => {
    for (const stated of [
      { r: 2, t: 20 },
      { r: 2, t: 20, q: 10 },
      { r: 2, t: 20, q: 10, w: 60 },
      { r: 2, t: 20, q: 10, w: 60, refill: 'window' },
    ] as const) {
      const at = hand()
      at.accept(at.send(), stated)
      const waits = [at.waitMs('GET /', 5), at.waitMs('GET /', 2)]
      at.nowMs = 20_001
      const later = at.waitMs('GET /', 5)
      const asking = at.send('GET /', 5)
      const beside = at.waitMs('GET /', 5)
      at.accept(asking, { ...stated, r: 4 })
      expect([stated, ...waits, later, beside > 0, at.waitMs('GET /', 5)]).toEqual([
        ...[stated, 20_001, 0, 0, true, 20_001],
      ])
    }
  })

  it('of a dear call is asked for once a window ends, though one unit is all that is sure', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 30, q: 10, w: 60, refill: 'window' })
    at.nowMs = 30_001
    expect(at.waitMs('GET /', 5)).toBe(0)
  })
})

describe('a limit in units that cannot be counted beforehand', () => {
  const bytes = { name: 'bytes', q: 65_535, w: 10, unit: 'content-bytes' }

  it('holds nothing while something is left, and stops at zero for as long as stated', () => {
    const at = hand()
    at.accept(at.send(), { r: 3, t: 5, ...bytes })
    expect(at.sendAll(40)).toHaveLength(40)
    at.nowMs = 100
    at.accept(at.send(), { r: 0, t: 5, ...bytes })
    expect(at.waitMs()).toBe(5000)
    at.nowMs = 5100
    const [probe] = at.sendAll(40)
    expect(at.sendAll(40)).toEqual([])
    if (probe !== undefined) at.accept(probe, { r: 900, t: 5, ...bytes })
    expect(at.sendAll(40)).toHaveLength(40)
  })

  it('asks again after growing pauses where no time is stated', () => {
    const at = hand()
    const gaps: number[] = []
    for (let answer = 0; answer < 4; answer += 1) {
      at.accept(at.send(), { r: 0, ...bytes })
      gaps.push(at.waitMs())
      at.nowMs += at.waitMs()
    }
    expect(gaps).toEqual([500, 1000, 2000, 4000])
  })

  it('heeds the newest answer, not one that was overtaken', () => {
    const at = hand()
    at.accept(at.send(), { r: 3, t: 5, ...bytes })
    const old = at.send()
    at.nowMs = 10
    at.accept(at.send(), { r: 50, t: 5, ...bytes })
    at.accept(old, { r: 0, t: 5, ...bytes })
    expect(at.waitMs()).toBe(0)
  })
})

describe('a limit on calls in progress', () => {
  const slots = { name: 'slots', q: 5, unit: 'concurrent-requests' }

  it('lets as many be in flight as the server has slots free, no more, and one more for each that ends', () => {
    const at = hand()
    at.accept(at.send(), { r: 4, ...slots })
    const flights = at.sendAll(20)
    expect(flights).toHaveLength(5)
    expect(at.waitMs()).toBe(Number.POSITIVE_INFINITY)
    const [first] = flights
    if (first !== undefined) at.accept(first, { r: 4, ...slots })
    expect(at.sendAll(20)).toHaveLength(1)
  })

  it('leaves to others the slots that they hold', () => {
    const at = hand()
    at.accept(at.send(), { r: 1, ...slots })
    expect(at.sendAll(20)).toHaveLength(2)
  })

  it('keeps trying with one call when others hold every slot', () => {
    const at = hand()
    at.refuse(at.send(), { retryAfterMs: 1000 }, { r: 0, ...slots })
    at.nowMs = 1000
    expect(at.sendAll(20)).toHaveLength(1)
  })

  it('gives the slot of a lost call back', () => {
    const at = hand()
    at.accept(at.send(), { r: 4, ...slots })
    const flights = at.sendAll(20)
    for (const flight of flights) at.pace.lost(flight)
    expect(at.waitMs()).toBe(0)
    expect(at.pace.limits()[0]).toMatchObject({ unit: 'concurrent-requests', quota: 5, available: 5 })
  })
})
