import {
  type CallOptions,
  type ClientEvent,
  createFetch,
  RateLimitError,
  type RateLimitReason,
  type RatepactFetch,
  type RatepactInit,
} from '@ratepact/client'
import { expect, expectTypeOf, it } from 'vitest'

const answer = (): Promise<Response> => Promise.resolve(new Response('ok'))
const url = 'https://api.example/orders'

// Each case is checked by the compiler; running them shows that the types tell the truth.

it('a call may say what it costs, how urgent it is and how long it may wait', async () => {
  const api = createFetch({ fetch: answer })
  expectTypeOf<RatepactInit['rateLimit']>().toEqualTypeOf<CallOptions | undefined>()
  await api(url, { method: 'POST', rateLimit: { cost: 2, priority: 1, maxWaitSeconds: 5 } })
  await api(url, { rateLimit: undefined })
  // @ts-expect-error: no such option
  await expect(api(url, { rateLimit: { weight: 2 } })).rejects.toThrow('weight')
  // @ts-expect-error: a number
  await expect(api(url, { rateLimit: { cost: '2' } })).rejects.toThrow('rateLimit.cost')
  // @ts-expect-error: an object
  await expect(api(url, { rateLimit: 5 })).rejects.toThrow('rateLimit')
  // @ts-expect-error: the name is rateLimit, and what fetch does not know is not passed on in silence
  await api(url, { rateLimits: { cost: 2 } })
})

it('what is known of limits is asked for as a call is made', () => {
  const api = createFetch({ fetch: answer })
  expectTypeOf(api.limits).parameter(0).toEqualTypeOf<Parameters<RatepactFetch>[0]>()
  expectTypeOf(api.limits).parameter(1).toEqualTypeOf<RatepactInit | undefined>()
  for (const limit of api.limits(url)) {
    expectTypeOf(limit.waitSeconds).toEqualTypeOf<number>()
    expectTypeOf(limit.quota).toEqualTypeOf<number | undefined>()
  }
  // @ts-expect-error: of which call?
  expect(api.limits()).toEqual([])
})

it('a paced fetch goes where a fetch goes, and takes no more than it needs of one', () => {
  expectTypeOf<RatepactFetch>().toExtend<typeof globalThis.fetch>()
  expectTypeOf<typeof globalThis.fetch>().toExtend<
    NonNullable<Parameters<typeof createFetch>[0]>['fetch'] & {}
  >()
  // @ts-expect-error: a fetch gives a promise
  expect(createFetch({ fetch: () => new Response() })).toBeTypeOf('function')
})

it('an event and an error are told apart by their literals', () => {
  createFetch({
    fetch: answer,
    onEvent: (event) => {
      expectTypeOf(event).toEqualTypeOf<ClientEvent>()
      if (event.type === 'retrying') expectTypeOf(event.waitSeconds).toEqualTypeOf<number>()
      // @ts-expect-error: not every event has a wait
      expect(event.waitSeconds).toBeDefined()
    },
  })
  expectTypeOf<RateLimitError['reason']>().toEqualTypeOf<RateLimitReason>()
  expectTypeOf<RateLimitReason>().toEqualTypeOf<'max-wait' | 'queue-full' | 'deadline' | 'closed'>()
  expect(new RateLimitError('closed', 'over').reason).toBe('closed')
})

it('classify may have no opinion in every form that a condition gives', async () => {
  for (const none of [undefined, null, false, ''] as const) {
    const api = createFetch({ fetch: answer, retry: { classify: () => none } })
    expect((await api(url)).status).toBe(200)
  }
  const classify = ({ status, statusText }: Response) => (status > 500 && 'limited') || (statusText && 'ok')
  expect((await createFetch({ fetch: answer, retry: { classify } })(url)).status).toBe(200)
  // @ts-expect-error: no verdict
  const wrong = createFetch({ fetch: answer, retry: { classify: () => 'maybe' } })
  await expect(wrong(url)).rejects.toThrow('maybe')
})

it('options that make no sense are errors of the compiler', () => {
  // @ts-expect-error: a misspelt option
  expect(() => createFetch({ maxWaitSecond: 5 })).toThrow('maxWaitSecond')
  // @ts-expect-error: numbers are numbers
  expect(() => createFetch({ maxQueue: '5' })).toThrow('maxQueue')
  // @ts-expect-error: a partition is a text
  expect(createFetch({ partition: () => 5 })).toBeTypeOf('function')
})
