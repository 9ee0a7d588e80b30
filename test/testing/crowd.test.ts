import { createFetch } from '@ratepact/client'
import { fixedWindow, tokenBucket } from '@ratepact/server'
import { limitedApi, testClock } from '@ratepact/testing'
import { expect, it } from 'vitest'

it.each([
  ['a bucket', tokenBucket({ name: 'api', capacity: 10, refillPerSecond: 10 })],
  ['a window', fixedWindow({ name: 'api', quota: 10, windowSeconds: 1 })],
])(
  'a fleet that shares %s is hardly refused where calls are held and processes counted',
  async (_, policy) => {
    const clock = testClock()
    const api = limitedApi({
      policies: [policy],
      clock,
      latencySeconds: 0.06,
      partition: () => 'fleet',
      hold: 1,
      countInstances: true,
    })
    const fleet = Array.from({ length: 5 }, async (_, n) => {
      const call = createFetch({ fetch: api.fetch, clock, maxWaitSeconds: 600, maxAttempts: 50 })
      const headers = { 'Ratepact-Instance': `process-${n}` }
      const calls = Array.from({ length: 20 }, () => call('https://api.example/orders', { headers }))
      return (await Promise.all(calls)).map(({ status }) => status)
    })
    const statuses = (await clock.runUntil(Promise.all(fleet))).flat()
    expect(statuses.every((status) => status === 200)).toBe(true)
    expect(api.counts().refused).toBeLessThanOrEqual(2)
    // 100 calls at 10 a second, the first ten at once.
    expect(clock.now()).toBeLessThan(12_000)
  },
)
