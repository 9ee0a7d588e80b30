import { createLimiter, tokenBucket } from '@ratepact/server'
import { testClock } from '@ratepact/testing'
import { expect, it } from 'vitest'
import { farStore } from './store.js'

const burst = tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 0.001 })
const TIMEOUT_MS = 50

it.each([0, 5, 20, 300])(
  'on a machine whose timers are always %i ms late a silent store is waited for no longer than two deadlines, and as late',
  async (lateMs) => {
    const clock = testClock()
    const store = farStore(clock, TIMEOUT_MS)
    const limiter = createLimiter({
      policies: [burst],
      store,
      clock: { ...clock, setTimeout: (call, ms) => clock.setTimeout(call, ms + lateMs) },
    })
    store.fare('silent')
    const calls = [limiter.consume('a')]
    // Others that come meanwhile put nobody off any longer.
    for (let other = 0; other < 5; other += 1) {
      await clock.advance(5)
      calls.push(limiter.consume(`other-${other}`))
    }
    expect(await clock.runUntil(calls[0] as (typeof calls)[0])).toMatchObject({ outcome: 'unchecked' })
    expect(clock.now()).toBeGreaterThanOrEqual(TIMEOUT_MS)
    expect(clock.now()).toBeLessThanOrEqual(2 * TIMEOUT_MS + 4 * lateMs)
    await clock.runUntil(Promise.all(calls))
  },
)
