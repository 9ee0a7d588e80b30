import { type Limiter, tokenBucket } from '@ratepact/server'
import { type LimitedApi, limitedApi, testClock } from '@ratepact/testing'
import { limitedHandlers } from '@ratepact/testing/msw'
import type { RequestHandler } from 'msw'
import { expect, expectTypeOf, it } from 'vitest'

const burst = tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 1 })
const daily = tokenBucket({ name: 'daily', capacity: 1, refillPerSecond: 1, by: 'account' })

// Each case is checked by the compiler; running them shows that the types tell the truth.

it('a limited API knows the names of its policies', async () => {
  const api = limitedApi({ policies: [burst, daily], partition: () => ({ client: 'c', account: 'a' }) })
  expectTypeOf(api).toEqualTypeOf<LimitedApi<'burst' | 'daily'>>()
  const [limit] = await api.limits('https://api.example')
  expectTypeOf(limit?.policy).toEqualTypeOf<'burst' | 'daily' | undefined>()
  expect(limit?.policy).toBe('burst')
})

it('it asks for what its policies count, and for nothing else', () => {
  limitedApi({ policies: [burst], cost: () => ({ burst: 2 }) })
  // @ts-expect-error: a kind that no policy counts
  limitedApi({ policies: [burst], partition: () => ({ team: 'a' }) })
  // @ts-expect-error: a policy that is not there
  limitedApi({ policies: [burst], cost: () => ({ brust: 2 }) })
  // @ts-expect-error: policies are needed
  expect(() => limitedApi({ clock: testClock() })).toThrow('policies')
})

it('its fetch is a fetch, its handlers are those of MSW, and it is no limiter', () => {
  const api = limitedApi({ policies: [burst] })
  expectTypeOf(api.fetch).toExtend<typeof globalThis.fetch>()
  expectTypeOf(limitedHandlers(api)).toExtend<readonly RequestHandler[]>()
  expectTypeOf(api).not.toExtend<Limiter>()
  // @ts-expect-error: an address is not an API
  expect(limitedHandlers('https://api.example')).toHaveLength(1)
})
