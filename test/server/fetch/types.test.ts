import { createLimiter, tokenBucket } from '@ratepact/server'
import { type Denied, rateLimit } from '@ratepact/server/fetch'
import { expect, expectTypeOf, it } from 'vitest'

const byClient = tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })
const byAccount = tokenBucket({ name: 'daily', capacity: 10_000, refillPerSecond: 1, by: 'account' })
const limiter = createLimiter({ policies: [byClient, byAccount] })
const plans = { free: [byClient], gold: [byClient] } as const
const planned = createLimiter({ plans })
const planless = createLimiter({ policies: [byClient] })
const both = () => ({ client: 'c', account: 'a' })

// What follows is checked by the compiler; that it also runs shows that nothing of it is refused when built.

it('a limited handler keeps what its platform hands it', async () => {
  const limit = rateLimit({ policies: [byClient], partition: () => 'c' })
  const handler = limit((_request: Request, env: { readonly name: string }) => new Response(env.name))
  expectTypeOf(handler).toEqualTypeOf<
    (request: Request, env: { readonly name: string }) => Promise<Response>
  >()
  expect(await (await handler(new Request('https://a.example'), { name: 'edge' })).text()).toBe('edge')
  // @ts-expect-error: the environment is missing
  await expect(handler(new Request('https://a.example'))).rejects.toThrow()
})

it('a handler that may answer nothing is limited to one, and only such', () => {
  const limit = rateLimit({ policies: [byClient], partition: () => 'c' })
  const upgrading = limit(async (request: Request, server: { upgrade(request: Request): boolean }) => {
    if (server.upgrade(request)) return
    return new Response('no')
  })
  expectTypeOf(upgrading).returns.toEqualTypeOf<Promise<Response | undefined>>()
  expectTypeOf(limit(async () => new Response())).returns.toEqualTypeOf<Promise<Response>>()
})

it('names and kinds are known from the policies or the limiter', () => {
  rateLimit({
    limiter,
    partition: (request) => ({ client: request.headers.get('x-api-key') ?? undefined, account: 'a' }),
    cost: () => ({ daily: 2 }),
    onDenied(request, decision) {
      expectTypeOf(request).toEqualTypeOf<Request>()
      expectTypeOf(decision).toEqualTypeOf<Denied<'burst' | 'daily'>>()
      if (decision.outcome === 'refused')
        expectTypeOf(decision.violated).toEqualTypeOf<readonly ('burst' | 'daily')[]>()
      return new Response(null, { status: 503 })
    },
  })
  rateLimit({ policies: [byClient, byAccount], partition: both, cost: { burst: 2 } })
})

it('a plan is known from the plans or the limiter, else told per call', () => {
  const limits = [
    rateLimit({ plans, plan: 'gold', partition: () => 'c' }),
    rateLimit({ plans, defaultPlan: 'free', partition: () => 'c' }),
    rateLimit({
      plans,
      plan: (request) => (request.headers.get('x-plan') === undefined ? 'free' : 'gold'),
      partition: () => 'c',
    }),
    rateLimit({ limiter: planned, plan: 'free', partition: () => 'c' }),
    rateLimit({
      limiter: planned,
      plan: async (request) => String(request.headers.get('x-plan')),
      partition: () => 'c',
    }),
  ]
  expect(limits).toHaveLength(5)
})

it('makes mistakes errors of the compiler', () => {
  const mistakes = [
    // @ts-expect-error a kind that no policy counts
    () => rateLimit({ limiter, partition: () => ({ client: 'c', acount: 'a' }) }),
    // @ts-expect-error a kind left out
    () => rateLimit({ limiter, partition: () => ({ client: 'c' }) }),
    // @ts-expect-error one text where two kinds are counted
    () => rateLimit({ limiter, partition: () => 'c' }),
    // @ts-expect-error not a text
    () => rateLimit({ policies: [byClient], partition: () => 42 }),
    // @ts-expect-error a policy that is not there
    () => rateLimit({ policies: [byClient], partition: () => 'c', cost: { brust: 1 } }),
    // @ts-expect-error a policy that is not there
    () => rateLimit({ limiter, partition: both, cost: () => ({ brust: 1 }) }),
    // @ts-expect-error an answer is a Response
    () => rateLimit({ limiter, partition: both, onDenied: () => 'no' }),
    // @ts-expect-error both
    () => rateLimit({ limiter, policies: [byClient], partition: both }),
    // @ts-expect-error no such draft
    () => rateLimit({ limiter, partition: both, headers: { draft: 8 } }),
    // @ts-expect-error a plan that there is not
    () => rateLimit({ plans, plan: 'gld', partition: () => 'c' }),
    // @ts-expect-error no plan at all
    () => rateLimit({ plans, partition: () => 'c' }),
    // @ts-expect-error a plan where there are none
    () => rateLimit({ policies: [byClient], plan: 'gold', partition: () => 'c' }),
    // @ts-expect-error a plan that the limiter has not
    () => rateLimit({ limiter: planned, plan: 'gld', partition: () => 'c' }),
    // @ts-expect-error a plan of a limiter without plans
    () => rateLimit({ limiter: planless, plan: 'gold', partition: () => 'c' }),
  ]
  expect(mistakes).toHaveLength(14)
})
