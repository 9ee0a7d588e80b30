import {
  type CallOptions,
  type ClientOptions,
  createFetch,
  type KnownLimit,
  RateLimitError,
  type RatepactInit,
} from '@ratepact/client'
import { fetch as undiciFetch } from 'undici'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { fakeServer, respond } from './fake.js'

const nonsense: [options: unknown, message: string][] = [
  [null, 'Expected options to be an object, got null'],
  [{ maxWait: 5 }, 'Expected options to have only fetch, partition,'],
  [{ maxWait: 5 }, 'got maxWait'],
  [{ fetch: 'http' }, 'Expected fetch to be a function, got "http"'],
  [{ partition: 'client' }, 'Expected partition to be a function, got "client"'],
  [{ route: {} }, 'Expected route to be a function, got an object'],
  [{ maxWaitSeconds: -1 }, 'Expected maxWaitSeconds to be a number of seconds from 0 to 31536000, got -1'],
  [{ maxWaitSeconds: Number.NaN }, 'got NaN'],
  [{ maxWaitSeconds: Number.POSITIVE_INFINITY }, 'got Infinity'],
  [{ maxWaitSeconds: '5' }, 'Expected maxWaitSeconds to be a number of seconds from 0 to 31536000, got "5"'],
  [{ maxQueue: 1.5 }, 'Expected maxQueue to be a whole number from 0 to 10000000, got 1.5'],
  [{ maxQueue: null }, 'got null'],
  [{ maxAttempts: 0 }, 'Expected maxAttempts to be a whole number from 1 to 1000, got 0'],
  [
    { totalTimeoutSeconds: 0 },
    'Expected totalTimeoutSeconds to be a number of seconds from 0.001 to 2147483, got 0',
  ],
  [{ attemptTimeoutSeconds: 3e6 }, 'Expected attemptTimeoutSeconds to be'],
  [{ retry: 3 }, 'Expected retry to be an object, got 3'],
  [
    { retry: { status: [429] } },
    'Expected retry to have only statuses, methods, networkErrors, idempotencyKey, classify, budget, got status',
  ],
  [{ retry: { statuses: 429 } }, 'Expected retry.statuses to be an array, got 429'],
  [
    { retry: { statuses: [429, 200] } },
    'Expected retry.statuses[1] to be a whole number from 400 to 599, got 200',
  ],
  [{ retry: { methods: ['GET', ''] } }, 'Expected retry.methods[1] to be the name of a method, got ""'],
  [{ retry: { networkErrors: 1 } }, 'Expected retry.networkErrors to be true or false, got 1'],
  [{ retry: { idempotencyKey: 'yes' } }, 'Expected retry.idempotencyKey to be a function, got "yes"'],
  [{ retry: { classify: {} } }, 'Expected retry.classify to be a function, got an object'],
  [{ retry: { budget: -1 } }, 'Expected retry.budget to be a number from 0 to 1000, got -1'],
  [{ backoff: 2 }, 'Expected backoff.delaySeconds to be a function, got undefined'],
  [{ clock: { now: () => 0 } }, 'Expected clock.setTimeout to be a function, got undefined'],
  [{ random: 0.5 }, 'Expected random to be a function, got 0.5'],
  [{ onEvent: [] }, 'Expected onEvent to be a function, got an array'],
  [{ policies: {} }, 'Expected policies to be an array, got an object'],
  [{ policies: [5] }, 'Expected policies[0] to be an object, got 5'],
  [{ policies: [{ quota: 5 }] }, 'Expected policies[0].policy to be a string, got undefined'],
  [{ policies: [{ policy: 'a', quota: -5 }] }, 'Expected policies[0].quota to be a whole number from 0 to'],
  [{ policies: [{ policy: 'a', quota: 5, windowSeconds: 0 }] }, 'Expected policies[0].windowSeconds to be'],
  [
    { policies: [{ policy: 'a', quota: 5, window: 60 }] },
    'Expected policies[0] to have only policy, quota, unit, windowSeconds, partitionKey, refill, ratePerSecond, got window',
  ],
  [{ policies: [{ policy: 'a', quota: 5, unit: 7 }] }, 'Expected policies[0].unit to be a string, got 7'],
  [
    { policies: [{ policy: 'a', quota: 5, refill: 'leaky' }] },
    'Expected policies[0].refill to be one of bucket, window, log, counter, got "leaky"',
  ],
  [{ policies: [{ policy: 'a', quota: 5, ratePerSecond: 0 }] }, 'Expected policies[0].ratePerSecond to be'],
  [{ policies: [{ policy: 'a', quota: 5, partitionKey: 'me' }] }, 'Expected policies[0].partitionKey to be'],
  [[], 'Expected options to be an object, got an array'],
  [new Map([['maxWaitSeconds', 5]]), 'Expected options to be an object, got an iterable'],
]

const nonsensicalCalls: [rateLimit: unknown, message: string][] = [
  [5, 'Expected rateLimit to be an object, got 5'],
  [{ costs: 5 }, 'Expected rateLimit to have only cost, priority, maxWaitSeconds, fairnessKey, got costs'],
  [{ cost: -1 }, 'Expected rateLimit.cost to be a whole number from 0 to 999999999999999, got -1'],
  [{ cost: Number.NaN }, 'got NaN'],
  [{ cost: 0.5 }, 'got 0.5'],
  [{ priority: 'high' }, 'Expected rateLimit.priority to be a number from -1000 to 1000, got "high"'],
  [{ maxWaitSeconds: -1 }, 'Expected rateLimit.maxWaitSeconds to be'],
  [{ fairnessKey: 7 }, 'Expected rateLimit.fairnessKey to be a string, got 7'],
]

describe('options that make no sense', () => {
  for (const [options, message] of nonsense) {
    it(`are refused when the client is made: ${message}`, () => {
      expect(() => createFetch(options as ClientOptions)).toThrow(message)
    })
  }

  for (const [rateLimit, message] of nonsensicalCalls) {
    it(`are refused by the call, as a rejection, with nothing sent: ${message}`, async () => {
      const { sent, clock, fetch } = fakeServer(() => respond(200))
      const call = createFetch({ fetch, clock })('http://api.test/', { rateLimit } as RatepactInit)
      await expect(call).rejects.toThrow(message)
      expect(sent).toHaveLength(0)
    })
  }

  it('are refused by close too, as a rejection', async () => {
    const { clock, fetch } = fakeServer(() => respond(200))
    const close = (options: unknown) => createFetch({ fetch, clock }).close(options as never)
    await expect(close({ drain: 'x' })).rejects.toThrow('Expected drain to be true or false, got "x"')
    await expect(close(null)).rejects.toThrow('Expected close options to be an object, got null')
    await close({ drain: undefined })
  })

  const fails = async (): Promise<never> => {
    throw new Error('mine')
  }
  for (const [name, options] of Object.entries({
    partition: { partition: fails },
    route: { route: fails },
    'retry.idempotencyKey': { retry: { idempotencyKey: fails } },
    'dialect.read': { dialect: { read: fails } },
    'backoff.delaySeconds': { backoff: { delaySeconds: fails } },
    random: { random: fails },
    onEvent: { onEvent: fails },
    'retry.classify': { retry: { classify: fails } },
  })) {
    it(`as a function whose promise fails leave no rejection behind: ${name}`, async () => {
      const unhandled: unknown[] = []
      const note = (reason: unknown): unknown => unhandled.push(reason)
      const others = process.listeners('unhandledRejection')
      process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
      onTestFinished(() => {
        process.off('unhandledRejection', note)
        for (const other of others) process.on('unhandledRejection', other)
      })
      const { clock, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200))
      const api = createFetch({ fetch, clock, ...options } as never as ClientOptions)
      const call = Promise.allSettled([api('http://api.test/', { method: 'POST' })])
      await clock.runUntil(call)
      // Node looks for rejections that nobody handles after each turn of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 1))
      expect(unhandled).toEqual([])
    })
  }

  it('given as undefined count as not given', async () => {
    const { clock, fetch } = fakeServer(() => respond(200))
    const api = createFetch({
      fetch,
      clock,
      partition: undefined,
      maxWaitSeconds: undefined,
      retry: undefined,
      onEvent: undefined,
    })
    const rateLimit = { cost: undefined, priority: undefined, maxWaitSeconds: undefined }
    expect((await api('http://api.test/', { rateLimit })).status).toBe(200)
  })
})

describe('options of one call', () => {
  it('never reach the underlying fetch, and what is given is left as it was', async () => {
    const { sent, clock, fetch } = fakeServer(() => respond(200))
    const init = Object.freeze({ method: 'POST', body: 'x', rateLimit: { cost: 2 } })
    await createFetch({ fetch, clock })('http://api.test/', init)
    expect(sent[0]?.init).toEqual({ method: 'POST', body: 'x' })
    expect(init).toEqual({ method: 'POST', body: 'x', rateLimit: { cost: 2 } })
  })

  it('cost is charged to the model', async () => {
    const { clock, fetch } = fakeServer(() => respond(200), 10)
    const policies = [{ policy: 'a', quota: 10, unit: 'requests', windowSeconds: 3600 }]
    const api = createFetch({ fetch, clock, policies })
    void api('http://api.test/', { rateLimit: { cost: 7 } })
    await clock.advance(1)
    expect(api.limits('http://api.test/')[0]?.available).toBe(3)
  })

  it('maxWaitSeconds wins over that of the client, both ways', async () => {
    const { clock, fetch } = fakeServer(() => respond(429, { 'retry-after': '30' }))
    const api = createFetch({ fetch, clock, maxWaitSeconds: 10, maxAttempts: 2 })
    expect(
      (await clock.runUntil(api('http://api.test/', { rateLimit: { maxWaitSeconds: 40 } }))).status,
    ).toBe(429)
    expect(clock.now()).toBeGreaterThanOrEqual(30_000)
    const hasty = api('http://api.test/', { rateLimit: { maxWaitSeconds: 1 } })
    await expect(hasty).rejects.toBeInstanceOf(RateLimitError)
  })
})

describe('types', () => {
  it('fit in where fetch is wanted, and take what fetch takes', () => {
    const api = createFetch()
    expectTypeOf(api).toExtend<typeof globalThis.fetch>()
    expectTypeOf(api).parameter(0).toEqualTypeOf<Parameters<typeof fetch>[0]>()
    expectTypeOf(api).returns.toEqualTypeOf<Promise<Response>>()
    expectTypeOf(api.limits('')).toEqualTypeOf<readonly KnownLimit[]>()
    // A fetch of another maker fits as the underlying one.
    createFetch({ fetch: undiciFetch })
    createFetch({ fetch: globalThis.fetch })
    createFetch({ fetch: createFetch() })
    // @ts-expect-error a typo is told when compiling
    expect(() => createFetch({ maxWaitSecond: 5 })).toThrow()
    const init: RatepactInit = { method: 'GET', rateLimit: { cost: 2, priority: 1, maxWaitSeconds: 5 } }
    expectTypeOf<RequestInit>().toExtend<RatepactInit>()
    expectTypeOf(init.rateLimit).toEqualTypeOf<CallOptions | undefined>()
  })
})
