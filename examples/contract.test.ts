import { createFetch } from '@ratepact/client'
import { tokenBucket } from '@ratepact/server'
import { limitedApi, testClock } from '@ratepact/testing'
import { limitedHandlers } from '@ratepact/testing/msw'
import { setupServer } from 'msw/node'
import { expect, onTestFinished, test } from 'vitest'

test('100 orders at once are paced so that none is refused', async () => {
  const clock = testClock() // forty seconds pass on it, and no time at all here
  const api = limitedApi({
    clock,
    policies: [tokenBucket({ name: 'burst', capacity: 20, refillPerSecond: 2 })],
  })
  const server = setupServer(...limitedHandlers(api))
  server.listen()
  onTestFinished(() => server.close())

  const client = createFetch({ clock })
  const orders = Array.from({ length: 100 }, () => client('https://api.example/orders', { method: 'POST' }))
  const responses = await clock.runUntil(Promise.all(orders))

  expect(responses.every(({ ok }) => ok)).toBe(true)
  expect(api.counts()).toEqual({ received: 100, admitted: 100, refused: 0 })
})
