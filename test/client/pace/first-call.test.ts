import { describe, expect, it } from 'vitest'
import { hand, policyOf } from './hand.js'

const bucket = { q: 10, w: 1, refill: 'bucket' } as const

describe('the first calls of a partition', () => {
  it('send one call to find out and let the others wait for its answer', () => {
    const at = hand()
    expect(at.waitMs()).toBe(0)
    const probe = at.send()
    expect(at.waitMs()).toBeGreaterThan(0)
    at.nowMs = 50
    at.accept(probe, { r: 9, t: 1, ...bucket })
    expect(at.waitMs()).toBe(0)
  })

  it('let everything go once an answer has stated no limit', () => {
    const at = hand()
    at.accept(at.send())
    expect(at.sendAll(300)).toHaveLength(300)
    expect(at.pace.limits()).toEqual([])
  })

  it('are held as soon as a later answer states a limit after all', () => {
    const at = hand()
    at.accept(at.send())
    const [first, ...others] = at.sendAll(5)
    at.nowMs = 40
    if (first !== undefined) at.accept(first, { r: 0, t: 1, ...bucket })
    expect(others).toHaveLength(4)
    expect(at.waitMs()).toBeGreaterThan(0)
  })

  it('send another probe at once when the first is lost', () => {
    const at = hand()
    at.pace.lost(at.send())
    expect(at.waitMs()).toBe(0)
  })

  it('send one more after five seconds when the first does not come back', () => {
    const at = hand()
    at.send()
    expect(at.waitMs()).toBe(5000)
    at.nowMs = 5000
    expect(at.waitMs()).toBe(0)
    at.send()
    expect(at.waitMs()).toBe(5000)
  })

  it('need no probe where the policies were given beforehand, and start with the whole quota', () => {
    const at = hand({ policies: policyOf({ q: 10, w: 1 }) })
    expect(at.sendAll(30)).toHaveLength(10)
    expect(at.waitMs()).toBeGreaterThan(0)
  })

  it('keep a given policy on a service that never states anything', () => {
    const at = hand({ policies: policyOf({ q: 10, w: 1 }) })
    for (const flight of at.sendAll(30)) at.accept(flight)
    expect(at.waitMs()).toBeGreaterThan(990)
    at.nowMs = 1020
    expect(at.sendAll(30)).toHaveLength(10)
  })

  it('start gently on a quota that others have used, and double with every answer that shows nobody', () => {
    const at = hand()
    at.accept(at.send(), { r: 5, t: 1, ...bucket })
    expect(at.sendAll(9)).toHaveLength(1)
    const fresh = hand()
    fresh.accept(fresh.send(), { r: 9, t: 1, ...bucket })
    expect(fresh.sendAll(9)).toHaveLength(4)
  })
})

describe('an idle engine', () => {
  it('is idle at first, not while a call is in flight, nor while exhausted, and idle again when full', () => {
    const at = hand()
    expect(at.pace.idle()).toBe(true)
    const flight = at.send()
    expect(at.pace.idle()).toBe(false)
    at.accept(flight, { r: 0, t: 1, ...bucket })
    expect(at.pace.idle()).toBe(false)
    at.nowMs = 1000
    expect(at.pace.idle()).toBe(true)
  })

  it('is not idle while a refusal holds it, and is so when the wait is over', () => {
    const at = hand()
    at.refuse(at.send(), { retryAfterMs: 3000 })
    expect(at.pace.idle()).toBe(false)
    at.nowMs = 70_000
    expect(at.pace.idle()).toBe(true)
  })
})
