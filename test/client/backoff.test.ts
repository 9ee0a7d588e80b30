import { exponentialBackoff } from '@ratepact/client'
import { describe, expect, it } from 'vitest'

const lowest = () => 0
const highest = () => 1 - Number.EPSILON

describe('exponentialBackoff', () => {
  it('doubles the longest wait up to the cap', () => {
    const backoff = exponentialBackoff({ firstSeconds: 1, maxSeconds: 10 })
    const waits = [1, 2, 3, 4, 5, 6].map((attempt) => Math.round(backoff.delaySeconds(attempt, highest)))
    expect(waits).toEqual([1, 2, 4, 8, 10, 10])
  })

  it('never waits less than the step before could, until the cap is reached', () => {
    const backoff = exponentialBackoff({ firstSeconds: 1, maxSeconds: 64 })
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      const longestNow = backoff.delaySeconds(attempt, highest)
      const shortestNext = backoff.delaySeconds(attempt + 1, lowest)
      expect(shortestNext).toBeGreaterThanOrEqual(longestNow * 0.999_999)
    }
  })

  it('keeps half of the cap as the least wait once the cap is reached, so that clients still spread', () => {
    const backoff = exponentialBackoff({ firstSeconds: 1, maxSeconds: 8 })
    expect(backoff.delaySeconds(20, lowest)).toBe(4)
    expect(backoff.delaySeconds(20, highest)).toBeCloseTo(8)
  })

  it('is finite, positive and within the cap for any number of attempts', () => {
    const backoff = exponentialBackoff()
    for (let attempt = 1; attempt <= 1100; attempt += 1) {
      for (const random of [lowest, highest]) {
        const delay = backoff.delaySeconds(attempt, random)
        expect(delay).toBeGreaterThan(0)
        expect(delay).toBeLessThanOrEqual(30)
      }
    }
  })

  it('says what is wrong with a bound', () => {
    expect(() => exponentialBackoff({ firstSeconds: 0 })).toThrow(
      'Expected firstSeconds to be a number from 0.001 to 86400, got 0',
    )
    expect(() => exponentialBackoff({ firstSeconds: 5, maxSeconds: 1 })).toThrow(
      'Expected maxSeconds to be a number from 5 to 86400, got 1',
    )
    expect(() => exponentialBackoff({ first: 5 } as never)).toThrow(
      'Expected backoff options to have only firstSeconds, maxSeconds, got first',
    )
  })
})
