import { describe, expect, it } from 'vitest'
import { hand, type Stated } from './hand.js'
import { seeded } from './simulator/random.js'

describe('a limit that says little', () => {
  it('with r alone lets r more go, and then asks after growing pauses, never stuck', () => {
    const at = hand()
    at.accept(at.send(), { r: 3 })
    const flights = at.sendAll(9)
    expect(flights.length).toBeGreaterThan(0)
    at.nowMs = 20
    for (const [index, flight] of flights.entries()) at.accept(flight, { r: 2 - index })
    for (const flight of at.sendAll(9)) at.accept(flight, { r: 0 })
    const gaps: number[] = []
    for (let answer = 0; answer < 4; answer += 1) {
      gaps.push(at.waitMs())
      at.nowMs += at.waitMs()
      at.accept(at.send(), { r: 0 })
    }
    expect(gaps[0]).toBeGreaterThanOrEqual(1000)
    for (const [index, gap] of gaps.entries())
      if (index > 0) expect(gap).toBeGreaterThan(gaps[index - 1] ?? 0)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_000)
  })

  it('with r and t but no policy stops at zero until t is over, and then asks with one call', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 20 })
    at.nowMs = 19_000
    expect(at.waitMs()).toBeGreaterThan(900)
    at.nowMs = 20_001
    const [probe] = at.sendAll(9)
    expect(at.sendAll(9)).toEqual([])
    if (probe !== undefined) at.accept(probe, { r: 40, t: 20 })
    expect(at.sendAll(9).length).toBeGreaterThan(0)
  })

  it('with r=0 and no t waits a window of its policy', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, q: 10, w: 30 })
    expect(at.waitMs()).toBeGreaterThan(29_000)
    at.nowMs = 31_000
    expect(at.waitMs()).toBe(0)
  })

  it('with t=0 beside r=0 says nothing of when', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 0 })
    expect(at.waitMs()).toBeGreaterThanOrEqual(1000)
  })

  it('with a quota of zero stops as stated and asks again, once at a time', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 4, q: 0, w: 60 })
    expect(at.waitMs()).toBe(4000)
    at.nowMs = 4000
    expect(at.sendAll(9)).toHaveLength(1)
  })
})

describe('a limit that says absurd things', () => {
  it('states fifteen digits of r: the quota bounds what is believed', () => {
    const at = hand()
    at.accept(at.send(), { r: 999_999_999_999_999, t: 1, q: 5, w: 60, refill: 'window' })
    expect(at.pace.limits()[0]?.available).toBe(5)
  })

  it('states a t of ages: believed up to the cap, then one call asks', () => {
    const at = hand({ maxBlockMs: 60_000 })
    at.accept(at.send(), { r: 0, t: 999_999_999_999_999, q: 5, w: 999_999_999_999_999 })
    expect(at.waitMs()).toBe(60_000)
    at.nowMs = 60_000
    expect(at.sendAll(9)).toHaveLength(1)
    expect(at.waitMs()).toBeGreaterThan(0)
  })

  it('refills once in a month: asked at the cap, too', () => {
    const at = hand({ maxBlockMs: 60_000 })
    at.accept(at.send(), { r: 0, t: 2_592_000, q: 1, w: 2_592_000, refill: 'bucket' })
    expect(at.waitMs()).toBe(60_000)
  })

  it('states thousands of limits in one answer: the first few count', () => {
    const at = hand()
    const many = Array.from({ length: 5000 }, (_, index) => ({ name: `n${index}`, r: 5, t: 1, q: 9, w: 1 }))
    at.accept(at.send(), ...many)
    expect(at.pace.limits()).toHaveLength(32)
  })

  it('has a name or a key of a megabyte: not taken in', () => {
    const at = hand()
    const long = 'n'.repeat(1_000_000)
    at.accept(
      at.send(),
      { name: long, r: 0, t: 9, q: 9, w: 9 },
      { pk: new Uint8Array(1_000_000), r: 0, t: 9, q: 9, w: 9 },
    )
    expect(at.pace.limits()).toEqual([])
  })

  it('has its answer counted once, however often it is given back', () => {
    const at = hand()
    at.accept(at.send(), { r: 9, t: 1, q: 10, w: 1, refill: 'bucket' })
    const flight = at.send()
    at.accept(flight, { r: 8, t: 1, q: 10, w: 1, refill: 'bucket' })
    at.accept(flight, { r: 0, t: 1, q: 10, w: 1, refill: 'bucket' })
    at.pace.lost(flight)
    expect(at.pace.limits()[0]?.available).toBe(8)
  })
})

describe('whatever a service says', () => {
  const values = [0, 1, 2, 9, 60, 1e3, 1e9, 999_999_999_999_999, 0.5]

  it('the next instant is a number, and an idle client is never made to wait for ever', () => {
    for (let seed = 1; seed <= 150; seed += 1) {
      const random = seeded(seed)
      const any = () => values[Math.floor(random() * values.length)] ?? 0
      const maybe = (name: string, value: unknown) => (random() < 0.6 ? { [name]: value } : {})
      const at = hand({ random, maxBlockMs: 600_000 })
      for (let step = 0; step < 60; step += 1) {
        const cost = random() < 0.8 ? 1 : any()
        const wait = at.waitMs('GET /', cost, 1 + Math.floor(random() * 50))
        expect(wait).not.toBeNaN()
        expect(wait).toBeLessThanOrEqual(660_000)
        at.nowMs += wait
        const flights = [at.send('GET /', cost), ...at.sendAll(Math.floor(random() * 6))]
        for (const flight of flights) {
          at.nowMs += random() * 80
          const refill = (['bucket', 'window', 'log', 'counter'] as const)[Math.floor(random() * 4)]
          const unit = ['requests', 'request', 'concurrent-requests', 'tokens'][Math.floor(random() * 4)]
          const stated = {
            ...maybe('r', any()),
            ...maybe('t', any()),
            ...maybe('tMs', any()),
            ...maybe('q', any()),
            ...maybe('w', any()),
            ...maybe('rate', any()),
            ...(random() < 0.3 ? { refill, unit } : {}),
          } as Stated
          const outcome = random()
          if (outcome < 0.1) at.pace.lost(flight)
          else if (outcome < 0.3) at.refuse(flight, random() < 0.5 ? {} : { retryAfterMs: any() }, stated)
          else at.accept(flight, stated)
          expect(at.pace.next('GET /', 1, 1)).not.toBeNaN()
          expect(at.pace.next('GET /other', 1, 1)).not.toBeNaN()
        }
      }
    }
  })
})
