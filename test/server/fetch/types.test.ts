import { createLimiter, tokenBucket } from '@ratepact/server'
import { type Denied, rateLimit } from '@ratepact/server/fetch'
import { expect, expectTypeOf, it } from 'vitest'

const byClient = tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })
const byAccount = tokenBucket({ name: 'daily', capacity: 10_000, refillPerSecond: 1, by: 'account' })
const limiter = createLimiter({ policies: [byClient, byAccount] })
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
  ]
  expect(mistakes).toHaveLength(9)
})
