import { describe, expect, it } from 'vitest'
import { play } from './run.js'
import { bucket } from './servers.js'

const idealMs = 20_000

describe('a first call that takes longer, since its connection has to be made,', () => {
  it.each([100, 300, 500])(
    'makes no later one too early, and the job no longer than that: %i ms more',
    (connectMs) => {
      for (const hints of [true, false]) {
        for (const capacity of [1, 2, 3, 4, 5]) {
          for (const perSecond of [1, 2, 3, 4, 5]) {
            // Without hints a faster rate than the quota over its window is not stated.
            const rate = hints ? perSecond : Math.min(perSecond, capacity)
            const windowMs = Math.max(1, Math.ceil(capacity / rate)) * 1000
            const outcome = play({
              server: () => bucket(capacity, windowMs, { ratePerSecond: rate }),
              calls: capacity + (rate * idealMs) / 1000,
              rttMs: 20,
              jitter: 0.02,
              strays: 0,
              hints,
              connectMs,
              seed: 1,
            })
            expect(outcome.refused).toBe(0)
            if (hints) expect((outcome.makespanMs - connectMs) / idealMs).toBeLessThanOrEqual(1.02)
          }
        }
      }
    },
  )
})
