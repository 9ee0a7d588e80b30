import { describe, expect, it } from 'vitest'
import { type Hand, hand } from './hand.js'

interface Silent {
  readonly units: number
  readonly perSecond: number
  readonly calls: number
  readonly rttMs?: number
  /** What a refusal states, in milliseconds; undefined = nothing at all. */
  readonly retryAfterMs?: number
}

interface Played {
  readonly endMs: number
  readonly sends: number
  readonly refused: number
  /** The most often that one call was refused. */
  readonly worst: number
}

/** All calls at once on a bucket that never says what it allows; a refused call is the next to go. */
function play({ units, perSecond, calls, rttMs = 60, retryAfterMs }: Silent, at: Hand = hand()): Played {
  const waiting = Array.from({ length: calls }, () => ({ refused: 0 }))
  const flying: { decidedMs: number; finish: () => void }[] = []
  let level = units
  let levelMs = at.nowMs
  const played = { endMs: 0, sends: 0, refused: 0, worst: 0 }
  const go = (): void => {
    const call = waiting.shift()
    if (call === undefined) return
    const flight = at.send()
    played.sends += 1
    level = Math.min(units, level + ((at.nowMs - levelMs) * perSecond) / 1000)
    levelMs = at.nowMs
    const accepted = level >= 1
    if (accepted) level -= 1
    const finish = (): void => {
      if (accepted) {
        at.accept(flight)
        return
      }
      call.refused += 1
      played.refused += 1
      played.worst = Math.max(played.worst, call.refused)
      waiting.unshift(call)
      at.refuse(flight, retryAfterMs === undefined ? {} : { retryAfterMs })
    }
    flying.push({ decidedMs: at.nowMs + rttMs, finish })
  }
  for (let steps = 0; waiting.length > 0 || flying.length > 0; steps += 1) {
    if (steps > 100_000) throw new Error(`Expected an end, got ${waiting.length} calls waiting`)
    const waitMs = waiting.length > 0 ? at.waitMs('GET /', 1, waiting.length) : Number.POSITIVE_INFINITY
    const first = flying[0]
    if (waitMs === 0) go()
    else if (first !== undefined && first.decidedMs <= at.nowMs + waitMs) {
      at.nowMs = Math.max(at.nowMs, first.decidedMs)
      flying.shift()
      first.finish()
    } else at.nowMs += waitMs
  }
  return { ...played, endMs: at.nowMs }
}

describe('a service that refuses without stating a limit', () => {
  it.each([
    { units: 5, perSecond: 5, calls: 30, retryAfterMs: 1000 },
    { units: 5, perSecond: 5, calls: 30 },
    { units: 10, perSecond: 10, calls: 100, retryAfterMs: 1000 },
    { units: 10, perSecond: 10, calls: 100 },
    { units: 10, perSecond: 10, calls: 100, retryAfterMs: 1000, rttMs: 5 },
    { units: 10, perSecond: 10, calls: 100, retryAfterMs: 1000, rttMs: 250 },
    { units: 1, perSecond: 1, calls: 30, retryAfterMs: 1000 },
  ])(
    'takes $calls calls at $perSecond a second ($units at once), at $rttMs ms, Retry-After $retryAfterMs',
    (silent) => {
      const { endMs, refused, worst } = play(silent)
      // The first burst is refused before anything can be known; hardly any call is refused again, none a third time.
      expect(worst).toBeLessThanOrEqual(2)
      expect(refused).toBeLessThanOrEqual(silent.calls * 1.15 + 2)
      const idealMs = ((silent.calls - silent.units) / silent.perSecond) * 1000
      expect(endMs).toBeLessThanOrEqual(idealMs * 1.4 + 3000)
    },
  )

  it('that asks for longer waits than it needs, and so hides its rate, is found out by and by', () => {
    const { endMs, worst } = play({ units: 20, perSecond: 100, calls: 400, retryAfterMs: 1000 })
    expect(worst).toBeLessThanOrEqual(2)
    expect(endMs).toBeLessThan(15_000)
  })

  it('is used faster and faster, and at last freely, once it refuses no more', () => {
    const at = hand()
    play({ units: 5, perSecond: 5, calls: 30, retryAfterMs: 1000 }, at)
    expect(at.sendAll(9).length).toBeLessThan(3)
    expect(at.pace.idle()).toBe(false)
    at.nowMs += 60_000
    expect(at.sendAll(300)).toHaveLength(300)
  })

  it('holds a client that asks seldom to no rate as seldom', () => {
    const at = hand()
    at.accept(at.send())
    for (let time = 0; time < 2; time += 1) {
      at.refuse(at.send(), { retryAfterMs: 1000 })
      at.nowMs += 1000
      for (let call = 0; call < 3; call += 1) {
        at.nowMs += 8000
        const flight = at.send()
        at.nowMs += 60
        at.accept(flight)
      }
    }
    const [flight] = at.sendAll(1)
    if (flight !== undefined) at.accept(flight)
    expect(at.waitMs()).toBeLessThan(1000)
  })

  it('whatever the rate is slows nobody below one call in two of the waits that it asks for', () => {
    const at = hand()
    at.accept(at.send())
    for (let call = 0; call < 40; call += 1) {
      at.refuse(at.send(), { retryAfterMs: 20 })
      expect(at.waitMs()).toBeLessThanOrEqual(40)
      at.nowMs += at.waitMs()
      at.accept(at.send())
      at.nowMs += at.waitMs()
    }
    expect(at.nowMs).toBeLessThan(40 * 90)
  })

  it('waits five seconds for calls that hang, then lets one more go', () => {
    const at = hand()
    at.refuse(at.send(), { retryAfterMs: 1000 })
    at.nowMs = 1000
    at.accept(at.send())
    expect(at.sendAll(9)).toHaveLength(2)
    expect(at.waitMs()).toBe(5000)
    at.nowMs += 5000
    expect(at.sendAll(9)).toHaveLength(1)
  })
})

describe('a service that never refuses', () => {
  it('is never held back', () => {
    const { sends, endMs } = play({ units: 1e9, perSecond: 1, calls: 500 })
    expect({ sends, endMs }).toEqual({ sends: 500, endMs: 120 })
  })
})

describe('chance that is no number from 0 to 1', () => {
  it.each([-3, 7, Number.NaN, Number.POSITIVE_INFINITY])('counts as the nearest one: %d', (drawn) => {
    const at = hand({ random: () => drawn })
    at.refuse(at.send(), {})
    expect(at.waitMs()).toBeGreaterThanOrEqual(500)
    expect(at.waitMs()).toBeLessThanOrEqual(1000)
  })
})
